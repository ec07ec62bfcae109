// everything.h -- a config with a field of every type that value.h reads, for tests that walk them
// all.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/comm_config.h"
#include "shoal/config/field_list.h"
#include "shoal/core/quantities.h"

namespace shoal::tests {

struct Everything {
  struct Inner {
    config::Bytes bytes = {64 << 20};
    Duration duration = std::chrono::seconds(90);
  };

  struct Outer {
    bool flag = false;
    Inner inner;
  };

  int small = 1;
  int64_t large = -1;
  uint64_t unsigned_large = 1;
  double number = 0.1;
  std::string text = "plain";
  config::Backend choice = config::Backend::kGloo;
  std::optional<double> maybe_number = std::nullopt;
  std::optional<std::string> maybe_text = std::nullopt;
  std::optional<config::Backend> maybe_choice = std::nullopt;
  std::vector<int> numbers = {1, 2};
  std::vector<std::string> words = {};
  Outer outer;
};

inline void list_fields(Everything::Inner& all, config::FieldList& list) {
  list.add("bytes", all.bytes, "a size", config::at_most(config::Bytes{int64_t{1} << 40}));
  list.add("duration", all.duration, "a time", config::at_least(std::chrono::seconds(1)));
}

inline void list_fields(Everything::Outer& all, config::FieldList& list) {
  list.add("flag", all.flag, "a flag");
  list.add("inner", all.inner, "a section in a section");
}

inline void list_fields(Everything& all, config::FieldList& list) {
  list.add("small", all.small, "an int", config::between(-10, 10));
  list.add("large", all.large, "a 64-bit int");
  list.add("unsigned_large", all.unsigned_large, "an unsigned int");
  list.add("number", all.number, "a double", config::between(0.0, 1.0));
  list.add("text", all.text, "a text");
  list.add("choice", all.choice, "a choice");
  list.add("maybe_number", all.maybe_number, "a number, or auto", config::at_least(0.5));
  list.add("maybe_text", all.maybe_text, "a text, or auto");
  list.add("maybe_choice", all.maybe_choice, "a choice, or auto");
  list.add("numbers", all.numbers, "some ints", config::at_least(0));
  list.add("words", all.words, "some texts");
  list.add("outer", all.outer, "a section");
}

}  // namespace shoal::tests

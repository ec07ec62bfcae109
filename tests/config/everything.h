// everything.h -- a config with a field of every type that value.h reads, for tests that walk them
// all.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/comm_config.h"
#include "shoal/config/rule.h"
#include "shoal/config/value.h"
#include "shoal/core/quantities.h"

namespace shoal::tests {

struct Everything {
  struct Inner {
    config::Bytes bytes = {64 << 20};
    Duration duration = std::chrono::seconds(90);

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
      visit("bytes", self.bytes, "a size", config::at_most(config::Bytes{int64_t{1} << 40}));
      visit("duration", self.duration, "a time", config::at_least(std::chrono::seconds(1)));
    }
  };

  struct Outer {
    bool flag = false;
    Inner inner;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
      visit("flag", self.flag, "a flag");
      visit("inner", self.inner, "a section in a section");
    }
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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("small", self.small, "an int", config::between(-10, 10));
    visit("large", self.large, "a 64-bit int");
    visit("unsigned_large", self.unsigned_large, "an unsigned int");
    visit("number", self.number, "a double", config::between(0.0, 1.0));
    visit("text", self.text, "a text");
    visit("choice", self.choice, "a choice");
    visit("maybe_number", self.maybe_number, "a number, or auto", config::at_least(0.5));
    visit("maybe_text", self.maybe_text, "a text, or auto");
    visit("maybe_choice", self.maybe_choice, "a choice, or auto");
    visit("numbers", self.numbers, "some ints", config::at_least(0));
    visit("words", self.words, "some texts");
    visit("outer", self.outer, "a section");
  }
};

}  // namespace shoal::tests

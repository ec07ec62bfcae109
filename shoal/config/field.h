// field.h -- the keys of a config struct as a table: values, rules and help texts.
//
//   const Table table = table_of(config);
//   find_entry(table, "parallel.tp")->field->write()    // "1"
//
// Reading, printing, help, docs, schema and diff are functions over a Table. A Table refers to the
// config it was made from and must not outlive it. A Table of a const config has no read().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"
#include "shoal/config/yaml_node.h"

namespace shoal::config {

// The values that a field accepts, for people (help, docs) and for editors (JSON Schema).
struct Shape {
  enum class Kind { kBool, kInteger, kNumber, kText, kChoice, kDuration, kBytes };

  Kind kind = Kind::kText;
  bool list = false;       // the value is a list
  bool automatic = false;  // the value may be auto
  std::vector<std::string_view> choices{};
  std::optional<std::string> low{};  // as written in YAML
  std::optional<std::string> high{};
  std::optional<TextRule> text{};
};

// Returns the shape in words, such as "a whole number from 1 to 8, or auto"; completes "write ...".
std::string in_words(const Shape& shape);

struct Field {
  Shape shape{};
  std::function<Verdict(const YamlNode&)> read{};  // takes a list if shape.list, else a text
  std::function<std::string()> write{};
};

struct Entry {
  std::string key{};  // dotted: "parallel.tp"
  std::string help{};
  std::optional<Field> field{};  // absent for a section, whose entries follow

  [[nodiscard]] std::string_view name() const;    // "tp"
  [[nodiscard]] std::string_view parent() const;  // "parallel"; empty at the top
};

using Table = std::vector<Entry>;  // a section comes before its entries

const Entry* find_entry(const Table& table, std::string_view key);

// Adds keys to a table. A config struct S has its keys in its own .cpp file, where a change of a help
// text compiles nothing else:
//
//   void list_fields(S& config, FieldList& list) {   // field_list.h
//     list.add("steps", config.steps, "updates of the weights", at_least(0));
//   }
class FieldList {
 public:
  explicit FieldList(Table& table, std::string prefix = "")
      : table_(table), prefix_(std::move(prefix)) {}

  // Adds a key, or a section if `member` has a list of fields itself.
  template <class Member, class... Rules>
  void add(std::string_view name, Member& member, std::string_view help, const Rules&... rules);

 private:
  Table& table_;
  std::string prefix_;
};

template <class Config>
Table table_of(Config& config) {
  Table table;
  FieldList list(table);
  list_fields(config, list);
  return table;
}

// The table of a const config can be written, and not read.
template <class Config>
Table table_of(const Config& config) {
  Table table = table_of(const_cast<Config&>(config));
  for (Entry& entry : table) {
    if (entry.field) entry.field->read = nullptr;
  }
  return table;
}

}  // namespace shoal::config

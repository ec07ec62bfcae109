// field.h -- the fields() lists of config structs as a table that ordinary code can walk.
//
//   const Table table = table_of(config);
//   find_entry(table, "parallel.tp")->field->write()    // "1"
//
// table_of is the only template that visits fields(); reading, printing, help, docs, schema and
// diff are functions over the Table it returns. A Table refers to the config it was made from and
// must not outlive it. A Table of a const config has no read().
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"
#include "shoal/config/yaml_node.h"
#include "shoal/core/format.h"

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

// What follows turns fields() into a Table.

Refusal refuse_text(std::string_view value);

// The rules of one field, combined, for values of its scalar type.
template <class Scalar>
struct Limits {
  std::optional<Scalar> low{};
  std::optional<Scalar> high{};
  std::string_view above_high{};  // the hint for values that are too large
  std::optional<TextRule> text{};

  template <class Bound>
  void add(const AtLeast<Bound>& rule) {
    low = Scalar(rule.bound);
  }

  template <class Bound>
  void add(const AtMost<Bound>& rule) {
    high = Scalar(rule.bound);
    above_high = rule.way_out;
  }

  template <class Bound>
  void add(const Between<Bound>& rule) {
    low = Scalar(rule.low);
    high = Scalar(rule.high);
  }

  void add(const TextRule& rule) requires std::same_as<Scalar, std::string> { text = rule; }

  [[nodiscard]] Verdict check(const Scalar& value) const {
    const auto refuse = [&value](std::string_view pattern, std::string_view bound) {
      return Refusal{.what = format(pattern, write_value(value), bound)};
    };
    if (low && value < *low) {
      return refuse("{} is less than {}, the smallest value", write_value(*low));
    }
    if (high && *high < value) {
      Refusal refusal = refuse("{} is more than {}, the largest value", write_value(*high));
      refusal.hint = above_high;
      return refusal;
    }
    if constexpr (std::same_as<Scalar, std::string>) {
      if (text && !text->holds(value)) return refuse_text(value);
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict check(const std::optional<Scalar>& value) const {
    return value ? check(*value) : std::nullopt;
  }

  [[nodiscard]] Verdict check(const std::vector<Scalar>& values) const {
    for (const Scalar& value : values) {
      if (Verdict refusal = check(value)) return refusal;
    }
    return std::nullopt;
  }
};

template <class T>
struct ScalarOf {
  using Type = T;
};

template <class T>
struct ScalarOf<std::optional<T>> {
  using Type = T;
};

template <class T>
struct ScalarOf<std::vector<T>> {
  using Type = T;
};

template <class Scalar>
constexpr Shape::Kind kind_of() {
  using Kind = Shape::Kind;
  if constexpr (std::same_as<Scalar, bool>) return Kind::kBool;
  if constexpr (std::integral<Scalar>) return Kind::kInteger;
  if constexpr (std::floating_point<Scalar>) return Kind::kNumber;
  if constexpr (std::is_enum_v<Scalar>) return Kind::kChoice;
  if constexpr (std::same_as<Scalar, Duration>) return Kind::kDuration;
  if constexpr (std::same_as<Scalar, Bytes>) return Kind::kBytes;
  return Kind::kText;
}

template <class T, class Scalar>
Shape shape_of(const Limits<Scalar>& limits) {
  Shape shape{.kind = kind_of<Scalar>(),
              .list = std::same_as<T, std::vector<Scalar>>,
              .automatic = std::same_as<T, std::optional<Scalar>>,
              .text = limits.text};
  if constexpr (std::is_enum_v<Scalar>) shape.choices = names_of<Scalar>();
  if constexpr (std::unsigned_integral<Scalar> && !std::same_as<Scalar, bool>) shape.low = "0";
  if (limits.low) shape.low = write_value(*limits.low);
  if (limits.high) shape.high = write_value(*limits.high);
  return shape;
}

template <class Member, class... Rules>
Field field_of(Member& member, const Rules&... rules) {
  using T = std::remove_const_t<Member>;
  Limits<typename ScalarOf<T>::Type> limits;
  (limits.add(rules), ...);
  Field field{.shape = shape_of<T>(limits), .write = [&member] { return write_value(member); }};
  if constexpr (!std::is_const_v<Member>) {
    field.read = [&member, limits](const YamlNode& node) {
      T value{};
      Verdict refusal = read_value(node, value);
      if (!refusal) refusal = limits.check(value);
      if (!refusal) member = std::move(value);
      return refusal;
    };
  }
  return field;
}

template <class T>
concept Section = std::is_class_v<T> && requires(T& section) {
  T::fields(section, [](auto&&...) {});
};

class TableVisitor {
 public:
  TableVisitor(Table& table, std::string prefix) : table_(table), prefix_(std::move(prefix)) {}

  template <class Member, class... Rules>
  void operator()(std::string_view name,
                  Member& member,
                  std::string_view help,
                  const Rules&... rules) {
    using T = std::remove_const_t<Member>;
    const std::string key = prefix_ + std::string(name);
    if constexpr (Section<T>) {
      table_.push_back({.key = key, .help = std::string(help)});
      T::fields(member, TableVisitor(table_, key + "."));
    } else {
      table_.push_back({key, std::string(help), field_of(member, rules...)});
    }
  }

 private:
  Table& table_;
  std::string prefix_;
};

template <class Config>
Table table_of(Config& config) {
  Table table;
  std::remove_const_t<Config>::fields(config, TableVisitor(table, ""));
  return table;
}

}  // namespace shoal::config

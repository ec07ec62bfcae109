// value.h -- how values of each type are written in a config: the pairs read_value and write_value.
//
//   bool              true, false                   int, int64_t, uint64_t   42
//   double            0.5, 1e-4                     std::string              any text
//   Duration          10m                           Bytes                    64 MiB
//   an enum class     a name from its kNames        std::optional<T>         auto, or a T
//   std::vector<T>    [a, b]
//
// Reading is strict: what two YAML readers could take differently (yes, 010, 1_000, 0x10) is
// refused with the spelling that was probably meant. What write_value returns reads back as the
// same value. A new type needs its pair here and its Kind in field.h, nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/config/yaml_node.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"

namespace shoal::config {

// A size in memory or on disk. It is not a bare integer, so that "64 MiB" cannot land in a count.
struct Bytes {
  int64_t count = 0;

  bool operator==(const Bytes&) const = default;

  bool operator<(const Bytes& other) const { return count < other.count; }
};

// The names of an enum, in the order they are shown; one table per enum, beside the enum:
//   template <> inline constexpr std::array kNames<Animal> = {Named{"cat", Animal::kCat}, ...};
template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

template <class Enum>
Named(std::string_view, Enum) -> Named<Enum>;  // clang 14 does not deduce it for aggregates

template <class Enum>
inline constexpr std::nullptr_t kNames = nullptr;

// The reason why a value is refused. An empty hint stands for "write what the field takes".
struct Refusal {
  std::string what{};
  std::string hint{};
};

using Verdict = std::optional<Refusal>;  // absent when the value is accepted

// These read a kText node; `out` is changed only when the value is accepted.
Verdict read_value(const YamlNode& node, bool& out);
Verdict read_value(const YamlNode& node, int& out);
Verdict read_value(const YamlNode& node, int64_t& out);
Verdict read_value(const YamlNode& node, uint64_t& out);
Verdict read_value(const YamlNode& node, double& out);
Verdict read_value(const YamlNode& node, std::string& out);
Verdict read_value(const YamlNode& node, Duration& out);
Verdict read_value(const YamlNode& node, Bytes& out);
Verdict read_choice(const YamlNode& node, const std::vector<std::string_view>& names, size_t& out);

std::string write_value(bool value);
std::string write_value(int value);
std::string write_value(int64_t value);
std::string write_value(uint64_t value);
std::string write_value(double value);
std::string write_value(const std::string& value);
std::string write_value(Duration value);
std::string write_value(Bytes value);

template <class T>
concept Enumeration = std::is_enum_v<T>;

template <Enumeration Enum>
std::vector<std::string_view> names_of() {
  std::vector<std::string_view> names;
  names.reserve(kNames<Enum>.size());
  for (const auto& named : kNames<Enum>) names.push_back(named.name);
  return names;
}

template <Enumeration Enum>
Verdict read_value(const YamlNode& node, Enum& out) {
  size_t index = 0;
  Verdict refusal = read_choice(node, names_of<Enum>(), index);
  if (!refusal) out = kNames<Enum>[index].value;
  return refusal;
}

template <Enumeration Enum>
std::string write_value(Enum value) {
  for (const auto& named : kNames<Enum>) {
    if (named.value == value) return std::string(named.name);
  }
  SHOAL_CHECK(false, "value {} of an enum has no name in its kNames", static_cast<int>(value));
}

template <class T>
Verdict read_value(const YamlNode& node, std::optional<T>& out) {
  if (node.text == "auto" && !node.quoted) {
    out.reset();
    return std::nullopt;
  }
  T value{};
  Verdict refusal = read_value(node, value);
  if (!refusal) out = std::move(value);
  return refusal;
}

template <class T>
std::string write_value(const std::optional<T>& value) {
  return value ? write_value(*value) : "auto";
}

// Reads a kList node.
template <class T>
Verdict read_value(const YamlNode& node, std::vector<T>& out) {
  std::vector<T> values;
  for (size_t i = 0; i < node.items.size(); ++i) {
    T value{};
    Verdict refusal = node.items[i].kind == YamlNode::Kind::kText
                          ? read_value(node.items[i], value)
                          : Refusal{.what = "is not a single value"};
    if (refusal) {
      refusal->what = format("item {} of the list: {}", i + 1, refusal->what);
      return refusal;
    }
    values.push_back(std::move(value));
  }
  out = std::move(values);
  return std::nullopt;
}

template <class T>
std::string write_value(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + write_value(value);
  return text + "]";
}

}  // namespace shoal::config

// field_list.h -- FieldList::add(), for the files that list the keys of a config struct.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/config/field.h"
#include "shoal/config/rule.h"
#include "shoal/config/value.h"
#include "shoal/core/format.h"

namespace shoal::config {

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
  Limits<typename ScalarOf<Member>::Type> limits;
  (limits.add(rules), ...);
  return {.shape = shape_of<Member>(limits),
          .read =
              [&member, limits](const YamlNode& node) {
                Member value{};
                Verdict refusal = read_value(node, value);
                if (!refusal) refusal = limits.check(value);
                if (!refusal) member = std::move(value);
                return refusal;
              },
          .write = [&member] { return write_value(member); }};
}

template <class Member, class... Rules>
void FieldList::add(std::string_view name,
                    Member& member,
                    std::string_view help,
                    const Rules&... rules) {
  const std::string key = prefix_ + std::string(name);
  if constexpr (requires(FieldList & list) { list_fields(member, list); }) {
    table_.push_back({.key = key, .help = std::string(help)});
    FieldList section(table_, key + ".");
    list_fields(member, section);
  } else {
    table_.push_back({key, std::string(help), field_of(member, rules...)});
  }
}

}  // namespace shoal::config

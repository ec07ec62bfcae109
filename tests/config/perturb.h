// perturb.h -- gives every field of a config another legal value than it has, whatever fields there
// are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shoal/config/field.h"

namespace shoal::tests {

class Perturb {
 public:
  template <class T, class... Rules>
  void operator()(std::string_view /*name*/,
                  T& member,
                  std::string_view /*help*/,
                  const Rules&... rules) {
    if constexpr (config::Section<T>) {
      T::fields(member, *this);
    } else {
      config::Limits<typename config::ScalarOf<T>::Type> limits;
      (limits.add(rules), ...);
      change(member, limits);
    }
  }

 private:
  template <class Scalar>
  static void change(Scalar& value, const config::Limits<Scalar>& limits) {
    if constexpr (std::is_same_v<Scalar, bool>) {
      value = !value;
    } else if constexpr (std::is_same_v<Scalar, std::string>) {
      value = "other-" + value;
    } else if constexpr (std::is_enum_v<Scalar>) {
      const auto& names = config::kNames<Scalar>;
      value = value == names[0].value ? names[1].value : names[0].value;
    } else if constexpr (std::is_same_v<Scalar, config::Bytes>) {
      ++value.count;
    } else {
      const Scalar more = value + Scalar(1);
      const Scalar less = value - Scalar(1);
      if (!limits.check(more)) {
        value = more;
      } else if (!limits.check(less)) {
        value = less;
      } else if (limits.high && !(value == *limits.high)) {
        value = *limits.high;
      }  // else this is the only legal value
    }
  }

  template <class Scalar>
  static void change(std::optional<Scalar>& value, const config::Limits<Scalar>& limits) {
    if (!value) value = limits.low.value_or(Scalar{});
    change(*value, limits);
  }

  template <class Scalar>
  static void change(std::vector<Scalar>& values, const config::Limits<Scalar>& limits) {
    values.push_back(limits.low.value_or(Scalar{}));
    change(values.back(), limits);
  }
};

}  // namespace shoal::tests

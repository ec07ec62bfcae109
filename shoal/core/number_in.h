// number_in.h -- the number that a whole text is.
//
//   number_in<int>("-17");          // -17
//   number_in<uint32_t>("ff", 16);  // 255
//   number_in<double>("1e-3");      // 0.001
//   number_in<int>("17 tokens");    // nothing, as for "", " 17", "+17" and what int cannot hold
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace shoal {

// `base` is that of an integer. Returns nothing when any character is left over.
template <class Number>
std::optional<Number> number_in(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_integral_v<Number>)
    read = std::from_chars(text.data(), end, number, base);
  else
    read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace shoal

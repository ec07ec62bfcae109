// format.h -- "{}"-style formatting for messages.
//
//   const std::string text = format("rank {} of {} waited {:.1f} s", rank, size, seconds);
//
// The pattern language is fmt's. Only format.cpp includes fmt: libtorch ships another version of
// its headers, so a file above the torch line that included fmt itself would mix the two. A wrong
// pattern does not throw: the result shows the pattern and what is wrong with it.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace shoal {

class FormatArgument {
 public:
  using Value = std::variant<bool, int64_t, uint64_t, double, std::string_view>;

  FormatArgument(bool value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  FormatArgument(const char* text)               // NOLINT(google-explicit-constructor)
      : value_(std::string_view(text)) {}
  FormatArgument(std::string_view text) : value_(text) {}  // NOLINT(google-explicit-constructor)
  FormatArgument(const std::string& text)                  // NOLINT(google-explicit-constructor)
      : value_(std::string_view(text)) {}
  FormatArgument(std::signed_integral auto number)  // NOLINT(google-explicit-constructor)
      : value_(static_cast<int64_t>(number)) {}
  FormatArgument(std::unsigned_integral auto number)  // NOLINT(google-explicit-constructor)
      : value_(static_cast<uint64_t>(number)) {}
  FormatArgument(std::floating_point auto number)  // NOLINT(google-explicit-constructor)
      : value_(static_cast<double>(number)) {}

  [[nodiscard]] const Value& value() const { return value_; }

 private:
  Value value_;
};

std::string format_list(std::string_view pattern, std::initializer_list<FormatArgument> arguments);

template <class... Arguments>
std::string format(std::string_view pattern, const Arguments&... arguments) {
  return format_list(pattern, {FormatArgument(arguments)...});
}

// Returns "3, 5, 8".
template <class List>
std::string listed(const List& list) {
  std::string text;
  for (const auto& one : list) text += format("{}{}", text.empty() ? "" : ", ", one);
  return text;
}

}  // namespace shoal

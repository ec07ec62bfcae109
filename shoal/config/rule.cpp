#include "shoal/config/rule.h"

#include <algorithm>
#include <string_view>

namespace shoal::config {
namespace {

constexpr size_t kMaxFileName = 100;
constexpr size_t kMaxInterface = 64;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Only letters, digits and `others`, between 1 and `max_size` of them.
bool made_of(std::string_view text, std::string_view others, size_t max_size) {
  if (text.empty() || text.size() > max_size) return false;
  return std::all_of(text.begin(), text.end(), [others](char c) {
    return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
  });
}

}  // namespace

TextRule file_name() {
  return {.words = "1 to 100 letters, digits, - _ or ., and no . in front",
          .pattern = "^(?!\\.)[A-Za-z0-9_.-]{1,100}$",
          .holds = [](std::string_view text) {
            return made_of(text, "-_.", kMaxFileName) && text.front() != '.';
          }};
}

TextRule not_empty() {
  return {.words = "text that is not empty", .pattern = "^.+$", .holds = [](std::string_view text) {
            return !text.empty();
          }};
}

TextRule one_interface() {
  return {.words = "one interface or address such as eth0 or 10.0.0.7 (never 0.0.0.0 or ::)",
          .pattern = "^(?![0.:]+(%|$))[A-Za-z0-9_.:%@-]{1,64}$",
          .holds = [](std::string_view text) {
            const size_t zeros = std::min(text.find_first_not_of("0.:"), text.size());
            const bool wildcard = zeros > 0 && (zeros == text.size() || text[zeros] == '%');
            return made_of(text, "_.:%@-", kMaxInterface) && !wildcard;
          }};
}

}  // namespace shoal::config

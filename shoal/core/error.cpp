#include "shoal/core/error.h"

#include <system_error>

namespace shoal {

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string describe_errno(int error_number) {
  return format("{} (errno {})", std::generic_category().message(error_number), error_number);
}

void throw_bug(const char* file, int line, const char* condition, const std::string& message) {
  throw BugError(format("{} [{} does not hold at {}:{}]", message, condition, file, line));
}

}  // namespace shoal

#include "report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace softcuda {
namespace {

void print(const char* format, va_list arguments) {
  char line[2048] = "softcuda: ";
  constexpr int kBegin = 10;
  const int wanted = std::vsnprintf(line + kBegin, sizeof line - kBegin - 1, format, arguments);
  const int length = kBegin + std::clamp(wanted, 0, int(sizeof line) - kBegin - 2);
  // Messages of exceptions have several lines; a report has one.
  std::replace(line, line + length, '\n', ' ');
  line[length] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, size_t(length) + 1);
}

}  // namespace

void report(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

void die(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
  std::abort();
}

}  // namespace softcuda

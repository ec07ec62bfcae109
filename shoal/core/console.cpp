#include "shoal/core/console.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

#include "shoal/core/format.h"

namespace shoal {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first of these that is set decides, as in setlocale(3).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = variable(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::kRed:
      return "31";
    case Colour::kGreen:
      return "32";
    case Colour::kYellow:
      return "33";
    case Colour::kCyan:
      return "36";
    case Colour::kDim:
      return "2";
  }
  return "0";
}

}  // namespace

Console console_of(int fd) {
  const std::string terminal = variable("TERM");
  const bool live = ::isatty(fd) == 1 && !terminal.empty() && terminal != "dumb";
  winsize size{};
  const bool tells = live && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {.live = live,
          .colour = live && variable("NO_COLOR").empty(),
          .utf8 = locale_is_utf8(),
          .columns = tells ? size.ws_col : kPlainColumns};
}

std::string painted(std::string_view text, Colour colour, const Console& console) {
  if (!console.colour || text.empty()) return std::string(text);
  return format("\x1b[{}m{}\x1b[0m", code_of(colour), text);
}

void write_error_line(const std::string& line) { std::cerr << line + "\n" << std::flush; }

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string progress_bar(double share, size_t width) {
  const double part = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  const auto full = static_cast<size_t>(part * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

}  // namespace shoal

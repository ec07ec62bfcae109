// console.h -- what the reader of a file descriptor can be shown.
//
//   const Console console = console_of(STDERR_FILENO);
//   std::cerr << painted("error", Colour::kRed, console) << ": ...";    // plain in a file or a pipe
//
// Colours and lines that are rewritten are for terminals alone. NO_COLOR (no-color.org) and
// TERM=dumb are respected, and characters beyond ASCII are used where the locale says UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shoal {

inline constexpr size_t kPlainColumns = 100;  // of files, pipes and terminals that do not tell

struct Console {
  bool live = false;    // a terminal that obeys escape sequences, so lines can be rewritten
  bool colour = false;  // it also shows colours, and its user wants them
  bool utf8 = false;
  size_t columns = kPlainColumns;
};

// The width may change between calls.
Console console_of(int fd);

enum class Colour { kRed, kGreen, kYellow, kCyan, kDim };

// Returns the text in a colour where the console has colours, else as it is.
std::string painted(std::string_view text, Colour colour, const Console& console);

// Writes `line` and a line break to standard error in one call, so that the lines of processes that
// share it stay whole.
void write_error_line(const std::string& line);

// Returns text of others with nothing in it that a terminal would obey: what is not printable ASCII
// becomes a question mark.
std::string printable(std::string text);

// "[#######.............]"
std::string progress_bar(double share, size_t width = 24);

}  // namespace shoal

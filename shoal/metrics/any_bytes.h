// any_bytes.h -- makes generated text, which may be any bytes, safe for its readers.
#pragma once

#include <string>
#include <string_view>

namespace shoal::metrics {

// Returns valid UTF-8, as JSON and TensorBoard demand it: U+FFFD replaces each byte that belongs to
// no character.
std::string valid_utf8(std::string_view bytes);

// Returns one line that a terminal only shows and does not obey: control characters, which could
// move its cursor or worse, become "\n", "\t" or "\x1b". It has `max_columns` characters at most;
// if the text is longer, the last three are dots.
std::string one_line(std::string_view bytes, size_t max_columns);

// Returns how many columns of a terminal such a line takes, a character each.
size_t columns_of(std::string_view shown);

}  // namespace shoal::metrics

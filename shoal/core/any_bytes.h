// any_bytes.h -- makes text of others, which may be any bytes, safe for its readers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shoal {

// Returns how many bytes the character at the front of `bytes` has; 0 when they begin none. Overlong
// forms, surrogates and what lies behind U+10FFFF are none.
size_t character_size(std::string_view bytes);

// Returns whether a terminal obeys a character instead of showing it: a control character, or one
// that turns the direction of the text around it.
bool steers_terminal(std::string_view character);

// Returns valid UTF-8, as JSON and TensorBoard demand it: U+FFFD replaces each byte that belongs to
// no character.
std::string valid_utf8(std::string_view bytes);

// Returns one line that a terminal only shows and does not obey: what steers it becomes "\n", "\t",
// "\x1b" or "\u202e". It has `max_columns` columns at most; if the text is longer, the last three are
// dots.
std::string one_line(std::string_view bytes, size_t max_columns = std::string_view::npos);

// Returns how many columns of a terminal such a line takes at most: two for a wide character, as of
// Chinese, else one.
size_t columns_of(std::string_view shown);

}  // namespace shoal

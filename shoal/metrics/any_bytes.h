// any_bytes.h -- text of a model, which may be any bytes, made safe for what has to read it.
#pragma once

#include <string>
#include <string_view>

namespace shoal::metrics {

// UTF-8, as JSON and TensorBoard demand it: U+FFFD stands for each byte that belongs to no
// character.
std::string valid_utf8(std::string_view bytes);

// One line that a terminal only shows and does not obey: control characters, which could move its
// cursor or worse, become "\n", "\t" or "\x1b". `max_columns` characters at most; the last three are
// dots when there was more.
std::string one_line(std::string_view bytes, size_t max_columns);

}  // namespace shoal::metrics

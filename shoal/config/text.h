// text.h -- which bytes a config may be made of, and how pieces of it are shown in messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::config {

struct BadText {
  size_t offset;  // of the first byte that is wrong
  std::string what;
  std::string hint;
};

// Why `text` is not a config, whatever stands in it: not UTF-8, or with bytes that no editor shows.
std::optional<BadText> find_bad_text(std::string_view text);

// `text` for a message: simple words as they are, the rest in quotes with control characters
// escaped, long text cut. What arrives at a terminal is printable, whatever was in the file.
std::string shown(std::string_view text);

// `text` broken into lines of at most 100 columns at spaces, each after `indent`, with line ends.
std::string wrapped(std::string_view text, std::string_view indent);

// One of the characters that have no shape: below space, and delete.
bool is_control(char c);

}  // namespace shoal::config

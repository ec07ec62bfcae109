// text.h -- which bytes a config may be made of, and how pieces of it are shown in messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::config {

struct BadText {
  size_t offset;  // offset of the first wrong byte
  std::string what;
  std::string hint;
};

// Returns why `text` cannot be a config, whatever it says: it is not UTF-8, or it has bytes that no
// editor shows.
std::optional<BadText> find_bad_text(std::string_view text);

// Returns `text` for a message: simple words as they are, the rest in quotes with control
// characters escaped, long text cut. The result is printable, whatever was in the file.
std::string shown(std::string_view text);

// Returns `text` with every byte as \xNN that is a control character other than a line feed, or no
// UTF-8: for a message that quotes what it was given.
std::string printable(std::string_view text);

// Returns `text` broken at spaces into lines of at most 100 columns, each after `indent`, with line
// ends.
std::string wrapped(std::string_view text, std::string_view indent);

// Returns whether `c` is a control character: below space, or delete.
bool is_control(char c);

}  // namespace shoal::config

// json_text.h -- text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace shoal::json {

bool is_utf8(std::string_view text);

// Returns the text in quotes, with as few escapes as JSON allows. Throws DataError when it is not
// UTF-8, which JSON has to be.
std::string in_quotes(std::string_view text);

}  // namespace shoal::json

// json_text.h -- a text as JSON writes it.
#pragma once

#include <string>
#include <string_view>

namespace shoal::json {

bool is_utf8(std::string_view text);

// In quotes, with as few escapes as JSON allows: any name or message, whatever is in it. DataError
// when it is not UTF-8, which JSON has to be.
std::string in_quotes(std::string_view text);

}  // namespace shoal::json

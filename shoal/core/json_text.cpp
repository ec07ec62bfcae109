#include "shoal/core/json_text.h"

#include <simdjson.h>

#include "shoal/core/error.h"

namespace shoal::json {

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text); }

std::string in_quotes(std::string_view text) {
  if (!is_utf8(text)) {
    throw DataError(
        format("a text of {} bytes is not UTF-8 and cannot be written as JSON", text.size()));
  }
  std::string result = "\"";
  for (const char byte : text) {
    switch (byte) {
      case '"':
      case '\\':
        (result += '\\') += byte;
        break;
      case '\b':
        result += "\\b";
        break;
      case '\f':
        result += "\\f";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(byte) < 0x20) {
          result += format("\\u{:04x}", static_cast<unsigned char>(byte));
        } else {
          result += byte;
        }
    }
  }
  return result + "\"";
}

}  // namespace shoal::json

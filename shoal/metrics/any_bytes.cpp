#include "shoal/metrics/any_bytes.h"

#include <cstddef>

#include "shoal/core/format.h"

namespace shoal::metrics {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

unsigned byte_at(std::string_view bytes, size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

// Bytes of the character at the front; 0 if there is none. The second byte's bounds keep out
// overlong forms, surrogates and what lies behind U+10FFFF (table 3-7 of the Unicode standard).
size_t character_size(std::string_view bytes) {
  const unsigned lead = byte_at(bytes, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte_at(bytes, 1) < low || byte_at(bytes, 1) > high) return 0;
  const size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (size_t at = 2; at < size; ++at) {
    if ((byte_at(bytes, at) & 0xc0) != 0x80) return 0;
  }
  return size;
}

std::string harmless(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  const unsigned second = byte_at(character, 1);
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (first < 0x20 || first == 0x7f) return format("\\x{:02x}", first);
  if (first == 0xc2 && second < 0xa0) return format("\\x{:02x}", second);  // C1: 0x9b is a CSI
  return std::string(character);
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t size = character_size(bytes);
    text += size > 0 ? bytes.substr(0, size) : kReplacement;
    bytes.remove_prefix(size > 0 ? size : 1);
  }
  return text;
}

std::string one_line(std::string_view bytes, size_t max_columns) {
  constexpr std::string_view kDots = "...";
  const std::string valid = valid_utf8(bytes);
  std::string_view rest = valid;
  std::string line;
  std::string before_dots;  // the longest beginning that leaves room for them
  size_t columns = 0;
  while (!rest.empty()) {
    const size_t size = character_size(rest);
    const std::string shown = harmless(rest.substr(0, size));
    if (columns + kDots.size() <= max_columns) before_dots = line;
    columns += columns_of(shown);
    if (columns > max_columns) return before_dots + std::string(kDots);
    line += shown;
    rest.remove_prefix(size);
  }
  return line;
}

size_t columns_of(std::string_view shown) {
  size_t columns = 0;
  for (const char c : shown) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return columns;
}

}  // namespace shoal::metrics

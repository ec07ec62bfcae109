#include "shoal/core/any_bytes.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "shoal/core/format.h"

namespace shoal {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

// Characters that turn the direction of text (UAX #9), and line and paragraph separators.
constexpr std::array kTurning = {CodeRange{0x200e, 0x200f}, CodeRange{0x2028, 0x202e},
                                 CodeRange{0x2066, 0x2069}};

// Blocks of characters with the width W or F (UAX #11); a few of their characters are narrow.
constexpr std::array kWide = {
    CodeRange{0x1100, 0x115f},   CodeRange{0x231a, 0x231b},   CodeRange{0x23e9, 0x23f3},
    CodeRange{0x25fd, 0x25fe},   CodeRange{0x2614, 0x2615},   CodeRange{0x2630, 0x2637},
    CodeRange{0x2648, 0x2653},   CodeRange{0x267f, 0x26ff},   CodeRange{0x2705, 0x27bf},
    CodeRange{0x2b1b, 0x2b55},   CodeRange{0x2e80, 0xa4cf},   CodeRange{0xa960, 0xa97f},
    CodeRange{0xac00, 0xd7a3},   CodeRange{0xf900, 0xfaff},   CodeRange{0xfe10, 0xfe6f},
    CodeRange{0xff01, 0xff60},   CodeRange{0xffe0, 0xffe6},   CodeRange{0x16fe0, 0x1b2ff},
    CodeRange{0x1d300, 0x1d37f}, CodeRange{0x1f000, 0x1faff}, CodeRange{0x20000, 0x3fffd}};

template <size_t n>
bool is_in(const std::array<CodeRange, n>& ranges, uint32_t code) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](uint32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

unsigned byte_at(std::string_view bytes, size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

// Returns the code point of a whole character.
uint32_t code_of(std::string_view character) {
  if (character.size() == 1) return byte_at(character, 0);
  uint32_t code = byte_at(character, 0) & (0x7fU >> character.size());
  for (size_t at = 1; at < character.size(); ++at)
    code = code << 6U | (byte_at(character, at) & 0x3fU);
  return code;
}

std::string harmless(std::string_view character) {
  if (!steers_terminal(character)) return std::string(character);
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  const uint32_t code = code_of(character);
  return code <= 0xff ? format("\\x{:02x}", code) : format("\\u{:04x}", code);
}

}  // namespace

// The second byte's bounds keep out overlong forms, surrogates and what lies behind U+10FFFF (table
// 3-7 of the Unicode standard).
size_t character_size(std::string_view bytes) {
  if (bytes.empty()) return 0;
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

bool steers_terminal(std::string_view character) {
  const uint32_t code = code_of(character);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || is_in(kTurning, code);
}

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
  while (!shown.empty()) {
    const size_t size = std::max<size_t>(character_size(shown), 1);
    columns += is_in(kWide, code_of(shown.substr(0, size))) ? 2 : 1;
    shown.remove_prefix(size);
  }
  return columns;
}

}  // namespace shoal

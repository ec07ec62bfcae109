#include <array>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {
namespace {

constexpr size_t kNumCharacters = 0x100 + 68;

struct PrintableMap {
  std::array<uint16_t, 256> character_of{};
  std::array<int, kNumCharacters> byte_of{};
};

// Visible Latin-1 characters stand for themselves, the other 68 bytes for U+0100 and following.
constexpr PrintableMap make_map() {
  PrintableMap map;
  for (int& byte : map.byte_of) byte = -1;
  uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const auto character = visible ? static_cast<uint16_t>(byte) : next++;
    map.character_of[byte] = character;
    map.byte_of[character] = static_cast<int>(byte);
  }
  return map;
}

constexpr PrintableMap kMap = make_map();

}  // namespace

std::string bytes_of_printable(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    auto character = static_cast<unsigned>(static_cast<unsigned char>(text[i]));
    const bool two_bytes = (character & 0xE0U) == 0xC0U && i + 1 < text.size();
    if (two_bytes)
      character = (character & 0x1FU) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3FU);
    const int byte = character < kNumCharacters && (two_bytes || character < 0x80U)
                         ? kMap.byte_of[character]
                         : -1;
    if (byte < 0)
      throw DataError(format("the token '{}' is not written in GPT-2's byte alphabet", text));
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string printable_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const unsigned character = kMap.character_of[static_cast<unsigned char>(byte)];
    if (character < 0x80U) {
      text += static_cast<char>(character);
    } else {
      text += static_cast<char>(0xC0U | character >> 6U);
      text += static_cast<char>(0x80U | (character & 0x3FU));
    }
  }
  return text;
}

}  // namespace shoal::data

// unicode.h -- the class of a character in a text that may not be valid UTF-8.
//
//   const Rune rune = read_rune(at, end);
//   rune.kind, rune.bytes           // CharClass::kUpper, 2
//
// The tables are Unicode 16.0 (kUnicodeVersion): another version would split new scripts otherwise.
// A byte that does not belong to a valid sequence is a character of its own, of kind kOther;
// nothing at or beyond `end` is read.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shoal::data {

constexpr std::string_view kUnicodeVersion = "16.0.0";

enum class CharClass : uint8_t {
  kOther,     // punctuation, symbols, controls, unassigned, invalid bytes
  kUpper,     // Lu, Lt
  kLower,     // Ll
  kCaseless,  // Lm, Lo
  kMark,      // M
  kNumber,    // N
  kSpace,     // White_Space, 25 code points
};

constexpr bool is_letter(CharClass kind) {
  return kind == CharClass::kUpper || kind == CharClass::kLower || kind == CharClass::kCaseless;
}

struct Rune {
  CharClass kind = CharClass::kOther;
  int bytes = 0;
};

// The classes of the bytes that are characters by themselves.
extern const std::array<CharClass, 128> kAsciiClass;

Rune read_long_rune(const char* at, const char* end);  // for a first byte of 0x80 or more

// Reads the character at `at`, which is before `end`.
inline Rune read_rune(const char* at, const char* end) {
  const auto first = static_cast<unsigned char>(*at);
  return first < 0x80U ? Rune{kAsciiClass[first], 1} : read_long_rune(at, end);
}

CharClass class_of(uint32_t code_point);

// Returns whether the bytes from `at` on could be the beginning of an incomplete character.
bool is_cut_short(const char* at, const char* end);

}  // namespace shoal::data

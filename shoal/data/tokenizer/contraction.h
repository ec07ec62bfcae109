// contraction.h -- 's 't 're 've 'm 'll 'd: the one place that knows them. Private to tokenizer/.
#pragma once

namespace shoal::data {

enum class Letters { kSmall, kAnyCase };  // with kAnyCase U+017F is an s too

// Returns the bytes of the contraction that begins with an apostrophe, or 0. byte(i) is the i-th
// after it, called only when it matters.
template <class Byte>
unsigned contraction_bytes(Letters letters, Byte byte) {
  const auto letter = [&](int i) {
    const char found = byte(i);
    const bool capital = letters == Letters::kAnyCase && found >= 'A' && found <= 'Z';
    return capital ? static_cast<char>(found + 32) : found;
  };
  const char first = letter(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (letters == Letters::kAnyCase && first == '\xC5') return byte(2) == '\xBF' ? 3 : 0;
  if (first != 'r' && first != 'v' && first != 'l') return 0;
  return letter(2) == (first == 'l' ? 'l' : 'e') ? 3 : 0;
}

}  // namespace shoal::data

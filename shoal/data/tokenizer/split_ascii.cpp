#include "shoal/data/tokenizer/split_ascii.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "shoal/data/tokenizer/split.h"
#include "shoal/data/tokenizer/unicode.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shoal::data {

#if defined(__x86_64__)
namespace {

constexpr size_t kWindow = 64;
constexpr size_t kAtOnce = 16;
static_assert(kFewestPlaces >= (kWindow + kAtOnce - 1) / kAtOnce * kAtOnce);

#define SHOAL_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt")))

// One bit per byte of the window.
struct Classes {
  uint64_t letters;
  uint64_t digits;
  uint64_t spaces;
  uint64_t blanks;  // 0x20
  uint64_t apostrophes;
  uint64_t beyond_ascii;
};

SHOAL_AVX2 inline __m256i within(__m256i bytes, char first, int count) {
  // Signed comparison is the only one there is: shift the range to the smallest values.
  const __m256i shifted = _mm256_add_epi8(bytes, _mm256_set1_epi8(static_cast<char>(0x80 - first)));
  return _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(-128 + count)), shifted);
}

SHOAL_AVX2 inline Classes classify_half(const char* at) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const auto mask = [](__m256i hits) SHOAL_AVX2 {
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(hits)));
  };
  const __m256i blanks = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
  const __m256i small = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
  return {mask(within(small, 'a', 26)),
          mask(within(bytes, '0', 10)),
          mask(_mm256_or_si256(blanks, within(bytes, '\t', 5))),
          mask(blanks),
          mask(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\''))),
          mask(bytes)};
}

SHOAL_AVX2 inline Classes classify(const char* at) {
  const Classes low = classify_half(at);
  const Classes high = classify_half(at + 32);
  return {low.letters | high.letters << 32U,         low.digits | high.digits << 32U,
          low.spaces | high.spaces << 32U,           low.blanks | high.blanks << 32U,
          low.apostrophes | high.apostrophes << 32U, low.beyond_ascii | high.beyond_ascii << 32U};
}

constexpr uint64_t first_of_runs(uint64_t bits) { return bits & ~(bits << 1U); }

// Bytes of 's 't 're 've 'm 'll 'd from the apostrophe on; 0 for none.
inline unsigned contraction_bytes(const char* apostrophe) {
  const char first = apostrophe[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const char second = apostrophe[2];
  const bool three = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                     (first == 'l' && second == 'l');
  return three ? 3 : 0;
}

// All bytes of a character get its class. Gives how many bytes are known: long white space is not,
// because its bytes are not characters of their own.
inline unsigned add_long_characters(Classes& is, const char* at, const char* end) {
  uint64_t left = is.beyond_ascii;
  while (left != 0) {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    const Rune rune = read_rune(at + place, end);
    const uint64_t bytes = ((uint64_t{1} << rune.bytes) - 1) << place;
    if (rune.kind == CharClass::kSpace) return place;
    if (is_letter(rune.kind)) is.letters |= bytes;
    if (rune.kind == CharClass::kNumber) is.digits |= bytes;
    left &= ~bytes;
  }
  return kWindow;
}

// Where pieces begin, if one begins at bit 0.
SHOAL_AVX2 inline uint64_t starts_of(const Classes& is, const char* at) {
  const uint64_t symbols = ~(is.letters | is.digits | is.spaces);
  const uint64_t words =
      first_of_runs(is.letters) | first_of_runs(is.digits) | first_of_runs(symbols);
  // A blank before a word belongs to it; of longer white space the last character stands alone.
  const uint64_t last_spaces = is.spaces & ~(is.spaces >> 1U);
  uint64_t starts = (words & ~(is.blanks << 1U)) | first_of_runs(is.spaces) | last_spaces;
  for (uint64_t left = is.apostrophes & starts & (~uint64_t{0} >> 3U); left != 0;
       left &= left - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    if ((starts >> place & 1U) == 0) continue;
    const unsigned bytes = contraction_bytes(at + place);
    if (bytes == 0) continue;
    const uint64_t inside = ((uint64_t{1} << (bytes - 1)) - 1) << (place + 1);
    starts = (starts & ~inside) | uint64_t{1} << (place + bytes);
  }
  return starts;
}

SHOAL_AVX2 size_t split_windows(const char* at, const char* end, std::span<const char*> ends) {
  size_t count = 0;
  while (static_cast<size_t>(end - at) >= kWindow && ends.size() - count >= kFewestPlaces) {
    Classes is = classify(at);
    const unsigned known = is.beyond_ascii == 0 ? kWindow : add_long_characters(is, at, end);
    // A start is certain when the two bytes behind it are known.
    if (known < 4) break;
    const uint64_t certain = (~uint64_t{0} >> (kWindow - (known - 2))) & ~uint64_t{1};
    uint64_t starts = starts_of(is, at) & certain;
    if (starts == 0) break;
    const auto found = static_cast<size_t>(std::popcount(starts));
    const char* const window = at;
    at += 63 - std::countl_zero(starts);
    // Sixteen at a time, whether there are so many or not: the rest is overwritten by the next window.
    for (size_t done = 0; done < found; done += kAtOnce) {
      for (size_t i = 0; i < kAtOnce; ++i) {
        ends[count + done + i] = window + std::countr_zero(starts);
        starts &= starts - 1;
      }
    }
    count += found;
  }
  return count;
}

}  // namespace

size_t split_ascii_gpt2(const char* at, const char* end, std::span<const char*> ends) {
  static const bool supported = __builtin_cpu_supports("avx2") != 0;
  return supported ? split_windows(at, end, ends) : 0;
}

#else

size_t split_ascii_gpt2(const char* /*at*/, const char* /*end*/, std::span<const char*> /*ends*/) {
  return 0;
}

#endif

}  // namespace shoal::data

#include "shoal/data/tokenizer/split_ascii.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "shoal/data/tokenizer/contraction.h"
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
// Bytes of a window, for one start behind its first to be certain.
constexpr unsigned kFewestKnown = 4;
static_assert(kFewestPlaces >= (kWindow + kAtOnce - 1) / kAtOnce * kAtOnce);

// One bit per byte of the window.
struct Classes {
  uint64_t letters;
  uint64_t digits;
  uint64_t spaces;
  uint64_t blanks;     // 0x20
  uint64_t line_ends;  // CR, LF
  uint64_t apostrophes;
  uint64_t beyond_ascii;
  uint64_t long_digits = 0;   // first bytes of such
  uint64_t long_symbols = 0;  // likewise

  [[nodiscard]] uint64_t symbols() const { return ~(letters | digits | spaces); }
};

[[gnu::target("avx2,bmi,bmi2,lzcnt")]] inline __m256i within(__m256i bytes, char first, int count) {
  // Signed comparison is the only one there is: shift the range to the smallest values.
  const __m256i shifted = _mm256_add_epi8(bytes, _mm256_set1_epi8(static_cast<char>(0x80 - first)));
  return _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(-128 + count)), shifted);
}

[[gnu::target("avx2,bmi,bmi2,lzcnt")]] inline uint64_t mask(__m256i hits) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(hits));
}

[[gnu::target("avx2,bmi,bmi2,lzcnt")]] inline Classes classify_half(const char* at) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i blanks = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
  const __m256i small = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
  return {mask(within(small, 'a', 26)),
          mask(within(bytes, '0', 10)),
          mask(_mm256_or_si256(blanks, within(bytes, '\t', 5))),
          mask(blanks),
          mask(_mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\r')),
                               _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n')))),
          mask(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\''))),
          mask(bytes)};
}

[[gnu::target("avx2,bmi,bmi2,lzcnt")]] inline Classes classify(const char* at) {
  const Classes low = classify_half(at);
  const Classes high = classify_half(at + 32);
  const auto both = [](uint64_t a, uint64_t b) { return a | b << 32U; };
  return {both(low.letters, high.letters),
          both(low.digits, high.digits),
          both(low.spaces, high.spaces),
          both(low.blanks, high.blanks),
          both(low.line_ends, high.line_ends),
          both(low.apostrophes, high.apostrophes),
          both(low.beyond_ascii, high.beyond_ascii)};
}

constexpr uint64_t first_of_runs(uint64_t bits) { return bits & ~(bits << 1U); }

// All bytes of a character get its class. Gives how many bytes are known: long white space is not,
// because its bytes are not characters of their own.
inline unsigned add_long_characters(Classes& is, const char* at, const char* end) {
  uint64_t left = is.beyond_ascii;
  while (left != 0) {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    const Rune rune = read_rune(at + place, end);
    const uint64_t bytes = ((uint64_t{1} << rune.bytes) - 1) << place;
    if (rune.kind == CharClass::kSpace) return place;
    const uint64_t first = uint64_t{1} << place;
    if (is_letter(rune.kind)) {
      is.letters |= bytes;
    } else if (rune.kind == CharClass::kNumber) {
      is.digits |= bytes;
      is.long_digits |= first;
    } else if (rune.bytes > 1) {
      is.long_symbols |= first;
    }
    left &= ~bytes;
  }
  return kWindow;
}

// Bits 0 to `count` - 1.
constexpr uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Ends the pieces of contractions where they end, and begins none inside.
uint64_t with_contractions(uint64_t starts, const Classes& is, const char* at, Letters letters) {
  for (uint64_t left = is.apostrophes & starts & low_bits(kWindow - 3); left != 0;
       left &= left - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    if ((starts >> place & 1U) == 0) continue;
    const unsigned bytes =
        contraction_bytes(letters, [&](int i) { return at[place + static_cast<unsigned>(i)]; });
    if (bytes == 0) continue;
    const uint64_t inside = low_bits(bytes - 1) << (place + 1);
    starts = (starts & ~inside) | uint64_t{1} << (place + bytes);
  }
  return starts;
}

// Each set of rules says where pieces begin, if one begins at bit 0; and may lower `known`, the number of
// bytes that it can judge.
struct Gpt2Rules {
  static uint64_t starts(const Classes& is, const char* at, unsigned& /*known*/) {
    const uint64_t words =
        first_of_runs(is.letters) | first_of_runs(is.digits) | first_of_runs(is.symbols());
    // A blank before a word belongs to it; of longer white space the last character stands alone.
    const uint64_t last_spaces = is.spaces & ~(is.spaces >> 1U);
    const uint64_t starts = (words & ~(is.blanks << 1U)) | first_of_runs(is.spaces) | last_spaces;
    return with_contractions(starts, is, at, Letters::kSmall);
  }
};

struct Cl100kRules {
  static uint64_t starts(const Classes& is, const char* at, unsigned& known) {
    // Long digits would have to be counted as characters: left to the plain way.
    if (is.long_digits != 0)
      known = std::min(known, static_cast<unsigned>(std::countr_zero(is.long_digits)));
    if (known < kFewestKnown) return 0;
    const uint64_t symbols = is.symbols();
    const uint64_t first_symbols = first_of_runs(symbols);
    // Line ends right behind symbols belong to them. Adding the first of a run carries through it.
    const uint64_t kept = is.line_ends & (symbols << 1U);
    const uint64_t spaces = is.spaces & ~(is.line_ends & ~(is.line_ends + kept));
    const uint64_t single_symbols = first_symbols & ~(symbols >> 1U) & ~(is.blanks << 1U);
    const uint64_t led = ((spaces & ~is.line_ends) << 1U) | single_symbols << 1U |
                         behind_long_symbols(is, symbols, first_symbols, at);
    const uint64_t starts = space_starts(is, spaces) | threes(is.digits) |
                            (first_of_runs(is.letters) & ~led) |
                            (first_symbols & ~(is.blanks << 1U));
    // White space that may go on behind the window: only its beginning is certain.
    if ((spaces >> (known - 1) & 1U) != 0) {
      const auto length = static_cast<unsigned>(std::countl_one(spaces << (kWindow - known)));
      known = std::min(known, known - length + 3);
    }
    return with_contractions(starts, is, at, Letters::kAnyCase);
  }

 private:
  // Digits in threes, from the first of each run on.
  static uint64_t threes(uint64_t digits) {
    const uint64_t three = digits & digits << 1U & digits << 2U;
    uint64_t starts = first_of_runs(digits);
    for (uint64_t next = starts << 3U & three; next != 0; next = next << 3U & three) starts |= next;
    return starts;
  }

  // Letters behind a long symbol that stands alone and has no blank before it.
  static uint64_t behind_long_symbols(const Classes& is,
                                      uint64_t symbols,
                                      uint64_t first_symbols,
                                      const char* at) {
    uint64_t behind = 0;
    for (uint64_t left = is.long_symbols & first_symbols & ~(is.blanks << 1U); left != 0;
         left &= left - 1) {
      const auto place = static_cast<unsigned>(std::countr_zero(left));
      const auto lead = static_cast<unsigned char>(at[place]);
      const unsigned after = place + (lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4);
      if (after < kWindow && (symbols >> after & 1U) == 0) behind |= uint64_t{1} << after;
    }
    return behind;
  }

  // White space: up to its last line end, then all but the last character, then that.
  static uint64_t space_starts(const Classes& is, uint64_t spaces) {
    const uint64_t first = first_of_runs(spaces);
    uint64_t starts = first | (spaces & ~(spaces >> 1U));
    const uint64_t line_ends = is.line_ends & spaces;
    for (uint64_t left = line_ends; left != 0;) {
      const auto place = static_cast<unsigned>(std::countr_zero(left));
      const unsigned after_run = place + static_cast<unsigned>(std::countr_one(spaces >> place));
      const uint64_t run = low_bits(after_run) & ~low_bits(place);
      const auto after_lines = static_cast<unsigned>(64 - std::countl_zero(line_ends & run));
      starts &= ~(run & ~first);
      if (after_lines < after_run)
        starts |= uint64_t{1} << after_lines | uint64_t{1} << (after_run - 1);
      left &= ~run;
    }
    return starts;
  }
};

template <class Rules>
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] size_t split_windows(const char* at,
                                                            const char* end,
                                                            std::span<const char*> ends) {
  size_t count = 0;
  while (static_cast<size_t>(end - at) >= kWindow && ends.size() - count >= kFewestPlaces) {
    Classes is = classify(at);
    unsigned known = is.beyond_ascii == 0 ? kWindow : add_long_characters(is, at, end);
    if (known < kFewestKnown) break;
    uint64_t starts = Rules::starts(is, at, known);
    // A start is certain when the two bytes behind it are known. The one at `at` ends nothing.
    if (known < kFewestKnown) break;
    starts &= low_bits(known - 2) & ~uint64_t{1};
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

size_t split_ascii(Pattern pattern, const char* at, const char* end, std::span<const char*> ends) {
  static const bool supported = __builtin_cpu_supports("avx2") != 0;
  if (!supported) return 0;
  if (pattern == Pattern::kGpt2) return split_windows<Gpt2Rules>(at, end, ends);
  if (pattern == Pattern::kCl100k) return split_windows<Cl100kRules>(at, end, ends);
  return 0;
}

#else

size_t split_ascii(Pattern /*pattern*/,
                   const char* /*at*/,
                   const char* /*end*/,
                   std::span<const char*> /*ends*/) {
  return 0;
}

#endif

}  // namespace shoal::data

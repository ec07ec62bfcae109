#include "shoal/data/tokenizer/split.h"

#include <array>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/contraction.h"
#include "shoal/data/tokenizer/split_ascii.h"
#include "shoal/data/tokenizer/unicode.h"

namespace shoal::data {
namespace {

// The text from a place on. Looking at its end gives no character; when kMore, that is remembered,
// because a longer text could have had one there.
template <bool kMore>
class Text {
 public:
  explicit Text(const char* end) : end_(end) {}

  [[nodiscard]] Rune rune(const char* at) {
    if (at == end_) {
      if constexpr (kMore) met_end_ = true;
      return {CharClass::kOther, 0};
    }
    if constexpr (kMore) met_end_ = met_end_ || is_cut_short(at, end_);
    return read_rune(at, end_);
  }

  // The byte at `at`, or 0 at the end; only compared with characters that are not 0.
  [[nodiscard]] char byte(const char* at) {
    if (at < end_) return *at;
    if constexpr (kMore) met_end_ = true;
    return '\0';
  }

  template <class Predicate>
  const char* skip(const char* at, Predicate wanted) {
    for (;;) {
      const Rune next = rune(at);
      if (next.bytes == 0 || !wanted(next.kind)) return at;
      at += next.bytes;
    }
  }

  template <class Predicate>
  const char* skip_bytes(const char* at, Predicate wanted) {
    while (wanted(byte(at))) ++at;
    return at;
  }

  [[nodiscard]] bool met_end() const { return met_end_; }

 private:
  const char* end_;
  bool met_end_ = false;
};

bool is_space(CharClass kind) { return kind == CharClass::kSpace; }
bool is_number(CharClass kind) { return kind == CharClass::kNumber; }
bool is_symbol(CharClass kind) { return kind == CharClass::kOther || kind == CharClass::kMark; }
bool is_line_end(char byte) { return byte == '\r' || byte == '\n'; }

// End of a contraction at `at`; `at` when there is none.
template <class T>
const char* skip_contraction(T& text, const char* at, Letters letters) {
  if (text.byte(at) != '\'') return at;
  return at + contraction_bytes(letters, [&](int i) { return text.byte(at + i); });
}

// \s+(?!\S)|\s+ : white space before other text leaves its last character to that text.
template <class T>
const char* skip_spaces(T& text, const char* at) {
  const char* last = at;
  const char* end = at;
  for (;;) {
    const Rune next = text.rune(end);
    if (next.bytes == 0) return end;
    if (!is_space(next.kind)) return last == at ? end : last;
    last = end;
    end += next.bytes;
  }
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
template <class T>
const char* next_gpt2(T& text, const char* at) {
  const char* contraction = skip_contraction(text, at, Letters::kSmall);
  if (contraction != at) return contraction;
  const char* word = at + (*at == ' ' ? 1 : 0);
  const Rune first = text.rune(word);
  if (first.bytes == 0 || is_space(first.kind)) return skip_spaces(text, at);
  const char* rest = word + first.bytes;
  if (is_letter(first.kind)) return text.skip(rest, is_letter);
  if (is_number(first.kind)) return text.skip(rest, is_number);
  return text.skip(rest, is_symbol);
}

// \s*[\r\n]+|\s+(?!\S)|\s+
template <class T>
const char* skip_lines_or_spaces(T& text, const char* at) {
  const char* after_line_end = at;
  const char* end = at;
  for (;;) {
    const Rune next = text.rune(end);
    if (next.bytes == 0 || !is_space(next.kind)) break;
    const bool ends_line = is_line_end(*end);
    end += next.bytes;
    if (ends_line) after_line_end = end;
  }
  return after_line_end != at ? after_line_end : skip_spaces(text, at);
}

template <class T>
const char* skip_numbers(T& text, const char* at, int most) {
  for (int i = 0; i < most; ++i) {
    const Rune next = text.rune(at);
    if (next.bytes == 0 || !is_number(next.kind)) break;
    at += next.bytes;
  }
  return at;
}

// What cl100k and o200k do with what is no word:
// \p{N}{1,most}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// with [\r\n/]* in o200k.
template <class T>
const char* next_non_word(T& text, const char* at, int most_numbers, bool slash_follows) {
  const Rune first = text.rune(at);
  if (is_number(first.kind)) return skip_numbers(text, at, most_numbers);
  const char* symbols = at + (*at == ' ' ? 1 : 0);
  const char* end = text.skip(symbols, is_symbol);
  if (end != symbols) {
    return text.skip_bytes(end, [slash_follows](char byte) {
      return is_line_end(byte) || (slash_follows && byte == '/');
    });
  }
  return skip_lines_or_spaces(text, at);
}

// [^\r\n\p{L}\p{N}]? : one character that may stand before a word.
bool may_precede_word(const Rune& rune, char byte) {
  return rune.bytes > 0 && !is_letter(rune.kind) && !is_number(rune.kind) && !is_line_end(byte);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|...
template <class T>
const char* next_cl100k(T& text, const char* at, int most_numbers) {
  const char* contraction = skip_contraction(text, at, Letters::kAnyCase);
  if (contraction != at) return contraction;
  const Rune first = text.rune(at);
  const char* word = at + (may_precede_word(first, *at) ? first.bytes : 0);
  const char* end = text.skip(word, is_letter);
  if (end != word) return end;
  return next_non_word(text, at, most_numbers, /*slash_follows=*/false);
}

bool in_upper_part(CharClass kind) {
  return kind == CharClass::kUpper || kind == CharClass::kCaseless || kind == CharClass::kMark;
}

bool in_lower_part(CharClass kind) {
  return kind == CharClass::kLower || kind == CharClass::kCaseless || kind == CharClass::kMark;
}

// [upper part]*[lower part]+ : end, or `at`. What belongs to both parts is taken by the first, which
// gives back as much as the second needs: one character.
template <class T>
const char* skip_lowered_word(T& text, const char* at) {
  const char* end = at;
  const char* after_both = at;
  for (;;) {
    const Rune next = text.rune(end);
    if (next.bytes == 0 || !in_upper_part(next.kind)) break;
    end += next.bytes;
    if (next.kind != CharClass::kUpper) after_both = end;
  }
  const char* lowered = text.skip(end, in_lower_part);
  return lowered != end ? lowered : after_both;
}

// [upper part]+[lower part]* where the form above has not matched.
template <class T>
const char* skip_upper_word(T& text, const char* at) {
  return text.skip(at, in_upper_part);
}

template <class T>
const char* next_o200k(T& text, const char* at) {
  const Rune first = text.rune(at);
  const bool has_prefix = may_precede_word(first, *at);
  // In the order of the alternatives; a mark can be the character before a word or its first one.
  const std::array<const char*, 2> starts = {has_prefix ? at + first.bytes : at, at};
  const size_t num_starts = first.kind == CharClass::kMark ? 2 : 1;
  for (size_t i = 0; i < num_starts; ++i) {
    const char* end = skip_lowered_word(text, starts[i]);
    if (end != starts[i]) return skip_contraction(text, end, Letters::kAnyCase);
  }
  for (size_t i = 0; i < num_starts; ++i) {
    const char* end = skip_upper_word(text, starts[i]);
    if (end != starts[i]) return skip_contraction(text, end, Letters::kAnyCase);
  }
  return next_non_word(text, at, 3, /*slash_follows=*/true);
}

template <class T>
const char* next_word(T& text, const char* at) {
  const bool space = is_space(text.rune(at).kind);
  return text.skip(at, [space](CharClass kind) { return is_space(kind) == space; });
}

template <class T>
const char* next_of(Pattern pattern, T& text, const char* at, const char* end) {
  switch (pattern) {
    case Pattern::kNone:
      return text.skip_bytes(end, [](char) { return false; });
    case Pattern::kGpt2:
      return next_gpt2(text, at);
    case Pattern::kCl100k:
      return next_cl100k(text, at, 3);
    case Pattern::kCl100kTwo:
      return next_cl100k(text, at, 2);
    case Pattern::kCl100kOne:
      return next_cl100k(text, at, 1);
    case Pattern::kO200k:
      return next_o200k(text, at);
    case Pattern::kByte:
      return at + 1;
    case Pattern::kCharacter:
      return at + text.rune(at).bytes;
    case Pattern::kWord:
      return next_word(text, at);
  }
  SHOAL_CHECK(false, "no pattern {}", static_cast<int>(pattern));
}

bool is_alphanumeric(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

bool is_visible(char byte) { return byte > ' ' && byte < '\x7F'; }

bool is_letter(char byte) { return is_alphanumeric(byte) && byte > '9'; }

// One line end between a visible ASCII character and a letter or digit ends a piece, in every pattern,
// and does so too when the text ends there; a blank between a letter or digit and a letter begins one.
bool is_plain_cut(std::string_view text, size_t i) {
  if (text[i - 1] == '\n') return i > 1 && is_visible(text[i - 2]) && is_alphanumeric(text[i]);
  return text[i] == ' ' && is_alphanumeric(text[i - 1]) && i + 1 < text.size() &&
         is_letter(text[i + 1]);
}

bool ends_with_space(const char* text, const char* end) {
  const char* last = end - 1;
  while (last > text && end - last < 4 && (static_cast<unsigned char>(*last) & 0xC0U) == 0x80U)
    --last;
  return read_rune(last, end).kind == CharClass::kSpace;
}

struct Known {
  Pattern pattern;
  std::string_view name;
  std::string_view regex;
};

constexpr std::string_view kO200kRegex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array<Known, 9> kKnown = {{
    {Pattern::kNone, "none", ""},
    {Pattern::kGpt2, "gpt2",
     R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Pattern::kCl100k, "cl100k",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {Pattern::kCl100kTwo, "cl100k, two digits",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {Pattern::kCl100kOne, "cl100k, one digit",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {Pattern::kO200k, "o200k", kO200kRegex},
    {Pattern::kByte, "byte", ""},
    {Pattern::kCharacter, "character", ""},
    {Pattern::kWord, "word", ""},
}};

}  // namespace

std::string_view pattern_name(Pattern pattern) {
  for (const Known& known : kKnown) {
    if (known.pattern == pattern) return known.name;
  }
  SHOAL_CHECK(false, "no pattern {}", static_cast<int>(pattern));
}

std::string_view regex_of_pattern(Pattern pattern) {
  for (const Known& known : kKnown) {
    if (known.pattern == pattern) return known.regex;
  }
  SHOAL_CHECK(false, "no pattern {}", static_cast<int>(pattern));
}

std::optional<Pattern> pattern_named(std::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return known.pattern;
  }
  return std::nullopt;
}

std::optional<Pattern> pattern_of_regex(std::string_view regex) {
  for (const Known& known : kKnown) {
    if (!known.regex.empty() && known.regex == regex) return known.pattern;
  }
  return std::nullopt;
}

const char* next_piece(Pattern pattern, const char* at, const char* end) {
  Text</*kMore=*/false> text(end);
  return next_of(pattern, text, at, end);
}

size_t next_pieces(Pattern pattern, const char* at, const char* end, std::span<const char*> ends) {
  SHOAL_CHECK(ends.size() >= kFewestPlaces, "{} places for pieces are too few", ends.size());
  size_t count = 0;
  while (ends.size() - count >= kFewestPlaces && at != end) {
    const size_t found = split_ascii(pattern, at, end, ends.subspan(count));
    if (found > 0) {
      count += found;
      at = ends[count - 1];
      continue;
    }
    at = next_piece(pattern, at, end);
    ends[count++] = at;
  }
  return count;
}

Piece next_piece_of_more(Pattern pattern, const char* at, const char* end) {
  Text</*kMore=*/true> text(end);
  const char* next = next_of(pattern, text, at, end);
  return {next, !text.met_end()};
}

size_t first_plain_cut(std::string_view text, size_t from) {
  for (size_t i = std::max<size_t>(1, from); i < text.size(); ++i) {
    if (is_plain_cut(text, i)) return i;
  }
  return std::string_view::npos;
}

size_t last_safe_cut(Pattern pattern, std::string_view text) {
  // Where there is no plain cut, look at all pieces.
  if (pattern != Pattern::kNone) {
    for (size_t i = text.size(); i-- > 2;) {
      if (is_plain_cut(text, i)) return i;
    }
  }
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  const char* safe = at;
  while (at != end) {
    const Piece piece = next_piece_of_more(pattern, at, end);
    if (!piece.settled) break;
    at = piece.end;
    // White space is cut otherwise where the text ends than where it goes on.
    if (!ends_with_space(text.data(), at)) safe = at;
  }
  return static_cast<size_t>(safe - text.data());
}

}  // namespace shoal::data

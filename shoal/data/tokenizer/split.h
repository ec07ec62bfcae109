// split.h -- splits a text into pieces before byte pairs are merged: the patterns of GPT-2, cl100k
// (Llama 3, Qwen 2) and o200k, written out by hand. There is no regular expression engine: those
// are most of the time of other encoders, and a hostile tokenizer file could hold an exponential
// pattern.
//
//   for (const char* at = text; at != end;) {
//     const char* next = next_piece(Pattern::kGpt2, at, end);
//     ...
//   }
//
// Pieces cover the text; each is found from the text that follows alone.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace shoal::data {

enum class Pattern {
  kNone,       // the whole text is one piece
  kGpt2,       // r50k, p50k: ByteLevel with use_regex in a tokenizer.json
  kCl100k,     // up to three digits together: cl100k_base, Llama 3, dolma2
  kCl100kTwo,  // up to two digits: nanochat
  kCl100kOne,  // each digit alone: Qwen 2
  kO200k,      // o200k_base
  kByte,       // each byte alone
  kCharacter,  // each character alone
  kWord,       // runs of other characters, and runs of white space
};

std::string_view pattern_name(Pattern pattern);

std::optional<Pattern> pattern_named(std::string_view name);

// Returns the pattern whose regular expression is exactly this text.
std::optional<Pattern> pattern_of_regex(std::string_view regex);

std::string_view regex_of_pattern(Pattern pattern);

// Returns the end of the piece that begins at `at`, which must be before `end`.
const char* next_piece(Pattern pattern, const char* at, const char* end);

// Writes the ends of the next pieces in the order of the text and returns how many: at least one,
// unless the text is at its end. Much faster than one at a time where the text is ASCII. `ends` has
// room for kFewestPlaces or more.
constexpr size_t kFewestPlaces = 72;
size_t next_pieces(Pattern pattern, const char* at, const char* end, std::span<const char*> ends);

struct Piece {
  const char* end = nullptr;
  bool settled = false;  // the piece ends here whatever text follows `end`
};

// Returns the next piece of a text that continues beyond `end`.
Piece next_piece_of_more(Pattern pattern, const char* at, const char* end);

// Returns the first place from `from` on where every pattern but kNone begins a piece, so that both
// sides of a cut there have the pieces of the whole, whatever text surrounds it; npos if there is
// none.
size_t first_plain_cut(std::string_view text, size_t from);

// Returns where `text`, which begins with a piece, can be cut so that both sides have the pieces of
// the whole, whatever follows; 0 if nowhere.
size_t last_safe_cut(Pattern pattern, std::string_view text);

}  // namespace shoal::data

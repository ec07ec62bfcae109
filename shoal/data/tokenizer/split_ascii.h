// split_ascii.h -- finds the pieces of split.h in ASCII text, 64 bytes at a time. Private to
// tokenizer/.
//
// Each byte's class becomes a bit in a word, and the beginnings of pieces are arithmetic on these
// words: no branch depends on the text until the places are written. Needs AVX2; without it, and
// for other text, nothing is found and split.h does the work.
#pragma once

#include <cstddef>
#include <span>

#include "shoal/data/tokenizer/split.h"

namespace shoal::data {

// Writes the ends of some of the next pieces of Pattern::kGpt2 or kCl100k from `at`, where one
// begins, and returns how many: 0 when the text there is not ASCII, ends soon, or `ends` has fewer
// than kFewestPlaces.
size_t split_ascii(Pattern pattern, const char* at, const char* end, std::span<const char*> ends);

}  // namespace shoal::data

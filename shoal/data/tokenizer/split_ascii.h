// split_ascii.h -- the same pieces as split.h, for ASCII text and 64 bytes at a time. Private to
// tokenizer/.
//
// Each byte's class becomes a bit in a word, and where pieces begin is arithmetic on these words:
// no branch depends on the text until the places are written down. Needs AVX2; without it, and for
// other text, nothing is found and split.h does the work.
#pragma once

#include <cstddef>
#include <span>

#include "shoal/data/tokenizer/split.h"

namespace shoal::data {

// Of Pattern::kGpt2 and kCl100k. Ends of some of the next pieces from `at`, which is where one begins. None when the text there is
// not ASCII, ends soon, or there are fewer than kFewestPlaces.
size_t split_ascii(Pattern pattern, const char* at, const char* end, std::span<const char*> ends);

}  // namespace shoal::data

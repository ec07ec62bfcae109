// bpe_trainer.h -- learns merges from counted pieces: the most frequent pair of neighbours becomes
// a token, again and again.
//
//   TokenizerParts parts = train_bpe(counts, {.vocab_size = 32000});
//
// The result is a function of the counts and options alone. Ids: added tokens first, then the bytes
// in the order of their printable characters, then merges, as HF's trainer numbers them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/data/tokenizer/piece_counts.h"
#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::data {

// Which of several pairs with the same count merges first: programs differ, and so do their tokens.
enum class TieBreak {
  kSmallerIds,    // HF tokenizers, rustbpe
  kGreaterBytes,  // Stanford's cs336
};

struct BpeTrainOptions {
  size_t vocab_size = 32000;  // added tokens and bytes included
  Pattern pattern = Pattern::kGpt2;
  std::vector<std::string> added = {};
  uint64_t min_count = 1;  // rarer pairs do not merge
  TieBreak tie_break = TieBreak::kSmallerIds;
};

// Learns a BPE tokenizer; it has fewer tokens than asked for when the pairs run out. Throws
// UsageError when the size has no room for the bytes and added tokens.
TokenizerParts train_bpe(const PieceCounts& counts, const BpeTrainOptions& options);

// Returns a closed list of the characters or words (`pattern`) that were counted, in the order of
// their bytes: for characters that of their code points. Throws DataError when there are too many,
// or bytes that are no characters.
TokenizerParts list_symbols(const PieceCounts& counts,
                            Pattern pattern,
                            const std::vector<std::string>& added);

}  // namespace shoal::data

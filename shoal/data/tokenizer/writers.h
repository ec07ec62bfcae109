// writers.h -- a tokenizer as the files that other programs read.
#pragma once

#include <string>

#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::data {

// Hugging Face's tokenizer.json.
std::string to_tokenizer_json(const TokenizerParts& parts);

// Our own form of a closed list of characters or words.
std::string to_symbol_json(const TokenizerParts& parts);

// "base64 rank" lines. Ranks are ids without the added tokens, which such a file does not hold; so it is
// the same tokenizer only where every token is the first merge that gives its bytes, as trained ones are.
std::string to_tiktoken(const TokenizerParts& parts);

}  // namespace shoal::data

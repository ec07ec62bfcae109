// writers.h -- writes a tokenizer in the formats of other programs.
#pragma once

#include <string>

#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::data {

// Returns Hugging Face's tokenizer.json.
std::string to_tokenizer_json(const TokenizerParts& parts);

// Returns our own format of a closed list of characters or words, or of all bytes.
std::string to_symbol_json(const TokenizerParts& parts);

// Returns "base64 rank" lines. Ranks are ids without the added tokens, which such a file does not
// hold; so it is the same tokenizer only where every token is the first merge that gives its bytes,
// as in trained ones.
std::string to_tiktoken(const TokenizerParts& parts);

}  // namespace shoal::data

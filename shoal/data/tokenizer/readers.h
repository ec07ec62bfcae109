// readers.h -- readers of tokenizer file formats, each into TokenizerParts. Private to tokenizer/;
// read_tokenizer() in tokenizer.h picks one. Everything is checked: files are not trusted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::data {

constexpr size_t kMaxTokenizerBytes = size_t{64} << 20;

// Reads Hugging Face's tokenizer.json: BPE with byte-level pieces and one of the patterns that
// split.h knows. Anything else that a file asks for is refused by name, but for what is put around a
// text (post_processor, padding): that is not applied.
TokenizerParts parts_of_tokenizer_json(std::string_view json);

// Reads OpenAI's first form: encoder.json (token to id) and vocab.bpe (one merge per line).
TokenizerParts parts_of_gpt2_files(std::string_view encoder_json, std::string_view vocab_bpe);

// Reads "base64 rank" lines. As in tiktoken, tokens that no merge reaches are whole pieces. Neither the pattern nor the added tokens are in such a file.
TokenizerParts parts_of_tiktoken(std::string_view lines);

// Reads our own format, {"shoal_tokenizer": "character", "symbols": ["\n", " ", "!"],
// "added_tokens": [...]}, and the same for words. Ids are places in the list; those of added tokens
// follow.
bool is_symbol_json(std::string_view json);
TokenizerParts parts_of_symbol_json(std::string_view json);

// Returns the byte tokenizer: all 256 bytes, then <|endoftext|>.
TokenizerParts byte_parts();

// Convert between bytes and GPT-2's printable characters: "Ġthe" stands for " the". Throws
// DataError for text with other characters.
std::string bytes_of_printable(std::string_view text);
std::string printable_of_bytes(std::string_view bytes);

}  // namespace shoal::data

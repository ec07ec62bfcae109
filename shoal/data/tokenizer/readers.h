// readers.h -- the file formats of tokenizers, each read into TokenizerParts. Private to tokenizer/;
// read_tokenizer() in tokenizer.h picks one. Everything read is checked: the files come from anywhere.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::data {

constexpr size_t kMaxTokenizerBytes = size_t{64} << 20;

// Hugging Face's tokenizer.json: BPE with byte-level pieces and one of the patterns that split.h
// knows. Whatever else a file asks for is refused by name.
TokenizerParts parts_of_tokenizer_json(std::string_view json);

// OpenAI's first form: encoder.json (token to id) and vocab.bpe (one merge per line).
TokenizerParts parts_of_gpt2_files(std::string_view encoder_json, std::string_view vocab_bpe);

// "base64 rank" lines. Neither the pattern nor the added tokens are in such a file.
TokenizerParts parts_of_tiktoken(std::string_view lines);

// Our own: {"shoal_tokenizer": "character", "symbols": ["\n", " ", "!"], "added_tokens": [...]}, and the
// same for words. Ids are places in the list; those of added tokens follow.
bool is_symbol_json(std::string_view json);
TokenizerParts parts_of_symbol_json(std::string_view json);

// All 256 bytes, and <|endoftext|> behind them.
TokenizerParts byte_parts();

// GPT-2's way to write bytes as printable characters: "Ġthe" stands for " the". DataError for text
// with other characters.
std::string bytes_of_printable(std::string_view text);
std::string printable_of_bytes(std::string_view bytes);

}  // namespace shoal::data

// readers.h -- the formats of token files, each read from bytes in memory. Private to token_files/:
// TokenFile maps the files and picks a reader. The bytes must outlive the reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/token_files/token_file.h"

namespace shoal::data {

// The content of a file, and its name in messages.
struct NamedBytes {
  std::string name;
  std::string_view bytes;
};

// The reader of one format; its functions are those of TokenFile.
class TokenFileReader {
 public:
  TokenFileReader() = default;
  TokenFileReader(const TokenFileReader&) = delete;
  TokenFileReader& operator=(const TokenFileReader&) = delete;
  virtual ~TokenFileReader() = default;

  [[nodiscard]] virtual uint64_t tokens() const = 0;
  virtual TokenFile::Status next(size_t max_tokens, std::vector<TokenId>& ids) = 0;
};

// All of these throw what TokenFile's constructor throws.
std::unique_ptr<TokenFileReader> read_nano_gpt(const NamedBytes& file,
                                               const TokenFileOptions& options);
std::unique_ptr<TokenFileReader> read_olmo(const NamedBytes& file, const TokenFileOptions& options);
std::unique_ptr<TokenFileReader> read_llm_c(const NamedBytes& file,
                                            const TokenFileOptions& options);
std::unique_ptr<TokenFileReader> read_megatron(const NamedBytes& index,
                                               const NamedBytes& file,
                                               const TokenFileOptions& options);

// Returns whether a file begins with one of llm.c's magic numbers. No file of GPT-2's ids begins
// like that: as uint16 the first id would be 55432 or larger.
bool is_llm_c(std::string_view bytes);

}  // namespace shoal::data

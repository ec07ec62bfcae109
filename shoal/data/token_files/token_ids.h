// token_ids.h -- untrusted ids in a file, of any integer type, at any address. Private to
// token_files/.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "shoal/data/token_files/readers.h"

namespace shoal::data {

enum class IdType { kUint8, kInt8, kUint16, kInt16, kUint32, kInt32, kUint64, kInt64 };

size_t bytes_of(IdType type);

// Reads a number at any address. Files are little-endian, and so is every supported machine.
template <class Number>
Number number_at(const char* address) {
  Number number;
  std::memcpy(&number, address, sizeof(number));
  return number;
}

class TokenIds {
 public:
  // Throws DataError when the bytes are no whole number of ids.
  TokenIds(NamedBytes file, IdType type, uint32_t vocab_size);

  [[nodiscard]] uint64_t size() const { return file_.bytes.size() / bytes_of(type_); }

  // Appends ids [first, first + count), which must be there. Throws DataError for one that is
  // negative or not below the vocabulary's size.
  void append(uint64_t first, uint64_t count, std::vector<TokenId>& ids) const;

  // Returns where `id` first occurs in [first, end), if it does.
  [[nodiscard]] std::optional<uint64_t> find(TokenId id, uint64_t first, uint64_t end) const;

 private:
  [[noreturn]] void refuse(uint64_t position, uint64_t value) const;

  NamedBytes file_;
  IdType type_;
  uint32_t vocab_size_;
};

// Returns the reader of documents that are separated by a mark, or of a single one if there is
// none.
std::unique_ptr<TokenFileReader> read_marked(const TokenIds& ids, const TokenFileOptions& options);

}  // namespace shoal::data

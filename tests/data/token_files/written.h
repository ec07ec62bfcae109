// written.h -- token files as their writers make them, byte by byte, and what comes back.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "shoal/core/error.h"
#include "shoal/data/token_files/readers.h"

#include "tests/support/error_text.h"

namespace shoal::data {

using Documents = std::vector<std::vector<TokenId>>;

template <class Number>
std::string packed(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

template <class Number>
std::string packed(Number number) {
  return packed(std::vector<Number>{number});
}

// All documents, read in parts of at most `max_tokens`.
template <class Reader>
Documents documents_of(Reader& reader, size_t max_tokens) {
  Documents documents;
  std::vector<TokenId> document;
  for (;;) {
    const size_t before = document.size();
    const TokenFile::Status part = reader.next(max_tokens, document);
    SHOAL_CHECK(document.size() - before <= max_tokens, "a part of {} ids",
                document.size() - before);
    if (part == TokenFile::Status::kEnd) {
      SHOAL_CHECK(document.empty(), "the end appended something");
      return documents;
    }
    if (part == TokenFile::Status::kMore) continue;
    documents.push_back(document);
    SHOAL_CHECK(documents.size() <= 1000, "documents without end");
    document.clear();
  }
}

// Why a file cannot be read, on opening it or later.
template <class Open>
std::string refusal(const Open& open) {
  return tests::error_text<DataError>([&] {
    const auto reader = open();
    (void)documents_of(*reader, 3);
  });
}

// llm.c's file. Fields can be wrong.
struct LlmCFile {
  int32_t magic = 20240520;
  int32_t version = 1;
  int32_t tokens = 0;
  std::string ids;

  [[nodiscard]] std::string bytes() const {
    std::vector<int32_t> header(256);
    header[0] = magic;
    header[1] = version;
    header[2] = tokens;
    return packed(header) + ids;
  }
};

// Megatron's index. Fields can be wrong.
struct MegatronIndex {
  std::string magic = std::string("MMIDIDX\0\0", 9);
  uint64_t version = 1;
  uint8_t type = 8;
  std::optional<uint64_t> sequences = {};  // by default as many as there are lengths
  std::optional<uint64_t> num_borders = {};
  std::vector<int32_t> lengths;
  std::vector<int64_t> offsets;
  std::vector<int64_t> borders;
  std::string modes;

  [[nodiscard]] std::string bytes() const {
    return magic + packed(version) + packed(type) + packed(sequences.value_or(lengths.size())) +
           packed(num_borders.value_or(borders.size())) + packed(lengths) + packed(offsets) +
           packed(borders) + modes;
  }
};

}  // namespace shoal::data

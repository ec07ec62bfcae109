// token_file.h -- files of token ids that other systems wrote, read document by document.
//
//   TokenFile file("fineweb_train_000001.bin",
//                  {.format = TokenFormat::kLlmC, .vocab_size = 50257,
//                   .mark = DocumentMark{50256, MarkPlace::kFirst}});
//   std::vector<TokenId> document;
//   while (file.next(SIZE_MAX, document) != TokenFile::Status::kEnd) {
//     use(document);
//     document.clear();
//   }
//
// Files are not trusted: every size, offset and id is checked, and a DataError names the file and
// the place. The files are mapped (see mapped_file.h), so memory does not grow with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/core/mapped_file.h"
#include "shoal/data/token_id.h"

namespace shoal::data {

enum class TokenFormat {
  kNanoGpt,   // .bin: uint16 ids and nothing else, for vocabularies of up to 65,536
  kLlmC,      // .bin: a header of 1024 bytes, then uint16 (GPT-2) or uint32 (Llama 3) ids
  kMegatron,  // .bin with ids, and .idx beside it with their type, sequences and documents
  kOlmo,      // .npy, but without numpy's header: ids of 1, 2, 4 or 8 bytes
};

// The place of the mark in its document. nanoGPT and OLMo put it last, llm.c puts it first.
enum class MarkPlace { kFirst, kLast };

// The id between documents (EOS, <|endoftext|>) in files that have no other borders.
struct DocumentMark {
  TokenId id = 0;
  MarkPlace place = MarkPlace::kLast;
};

struct TokenFileOptions {
  TokenFormat format = TokenFormat::kNanoGpt;

  // Every id must be below this.
  uint32_t vocab_size = 0;

  // The mark between documents; without it the whole file is one document. Not used for kMegatron:
  // there the index lists the documents, and marks are ids like others.
  std::optional<DocumentMark> mark = {};

  // The width of an id, kOlmo only: 1, 2, 4 or 8. By default the smallest that holds all ids of the
  // vocabulary, which is what OLMo-core assumes too.
  std::optional<unsigned> bytes_per_id = {};
};

// Returns the format that a file seems to have, by its extension, the .idx beside it and llm.c's
// magic number; nothing for other extensions. Throws DataError when a .bin cannot be read.
std::optional<TokenFormat> token_format_of(const std::filesystem::path& path);

class TokenFileReader;

class TokenFile {
 public:
  enum class Status {
    kMore,          // the document goes on
    kDocumentEnds,  // these were the document's last ids
    kEnd,           // no more documents; nothing was appended
  };

  // For Megatron, `path` is the .bin or the .idx; the other is found beside it. Throws DataError
  // for files that do not match `options`, UsageError for options that make no sense.
  TokenFile(const std::filesystem::path& path, const TokenFileOptions& options);

  TokenFile(TokenFile&&) noexcept;
  TokenFile& operator=(TokenFile&&) noexcept;
  ~TokenFile();

  // Returns the number of tokens of all documents together.
  [[nodiscard]] uint64_t tokens() const;

  // Appends the next ids of the document, at most `max_tokens` (at least 1), and returns how that
  // part ended. All ids of the file come back in order, the marks too. A document that the writer
  // cut at the end of its file is two, one in each file; Megatron's may be empty.
  //
  // Throws DataError for an id that the vocabulary does not have; the file cannot be read on after
  // it.
  Status next(size_t max_tokens, std::vector<TokenId>& ids);

 private:
  MappedFile file_;
  MappedFile index_;
  std::unique_ptr<TokenFileReader> reader_;
};

}  // namespace shoal::data

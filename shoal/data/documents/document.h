// document.h -- the documents of a corpus, whatever the format of its files.
//
//   for (Document document; reader.next(document);) use(document.text);
//
// A reader covers one slice of one file, so that several threads and ranks can read a large file
// together: a line, or a text between separators, belongs to the slice it begins in, and a reader
// finds its beginning by itself from the bytes around the slice's border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "shoal/data/tokenizer/vocabulary.h"

namespace shoal::data {

// A document is assigned to a split by its first bytes, which are the same however it is read.
constexpr size_t kHeadBytes = size_t{4} << 20;

// A document: text, or ids if the input is already tokenized. The views are valid until the next
// call.
struct Document {
  std::string_view text;
  std::string_view prompt;       // precedes the text, masked out of the loss
  std::span<const TokenId> ids;  // instead of both
  // For each id 1, or 0 if it is masked out of the loss; empty: none is.
  std::span<const uint8_t> trained_on;
  // Whether this is the first and the last piece: a long text comes in several, cut where no token
  // could span the cut. The first has at least kHeadBytes.
  bool begins = true;
  bool ends = true;
};

// The names of the fields or columns that hold the text. Without `prompt` all of it is trained on.
struct TextFields {
  std::string text = "text";
  std::string prompt;
};

class DocumentReader {
 public:
  virtual ~DocumentReader() = default;

  virtual bool next(Document& document) = 0;  // false: no more
};

// The bytes of a file from some place on, decompressed.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  virtual size_t read(std::span<char> to) = 0;  // 0: no more
};

// The bytes [begin, end) of a text that begins at 0.
struct Slice {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;  // beyond the text means to its end
};

}  // namespace shoal::data

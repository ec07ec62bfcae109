// document.h -- what a corpus is made of, whatever its files look like.
//
//   for (Document document; reader.next(document);) use(document.text);
//
// A reader covers one slice of one file, so that several threads and ranks can read a large file
// together: a line, or a text between separators, belongs to the slice it begins in, and a reader
// finds that by itself from the bytes around the slice's border.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "shoal/data/tokenizer/vocabulary.h"

namespace shoal::data {

// Text, or ids where the input has been tokenized before. Views last until the next call.
struct Document {
  std::string_view text;
  std::string_view prompt;       // stands before the text and is not trained on
  std::span<const TokenId> ids;  // instead of both
  // Long texts come in several, cut where no token could reach over the cut.
  bool begins = true;
  bool ends = true;
};

// Where the text stands in a record: names of fields or columns. Without `prompt` all of it is trained
// on.
struct TextFields {
  std::string text = "text";
  std::string prompt;
};

class DocumentReader {
 public:
  virtual ~DocumentReader() = default;

  virtual bool next(Document& document) = 0;  // false: no more
};

// Bytes of a file from some place on, decompressed.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  virtual size_t read(std::span<char> to) = 0;  // 0: no more
};

// Bytes begin up to end of a text that begins at 0. Only text before `size` is there at all.
struct Slice {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;  // beyond the text: to its end
};

}  // namespace shoal::data

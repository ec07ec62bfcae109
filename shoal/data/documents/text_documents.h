// text_documents.h -- plain text: documents between separators, or all of it as one.
#pragma once

#include <memory>
#include <string>

#include "shoal/data/documents/document.h"
#include "shoal/data/tokenizer/split.h"

namespace shoal::data {

struct TextOptions {
  Pattern pattern = Pattern::kNone;  // tells where a tokenizer can cut
  // The text between documents; overlapping separators ("\n\n" in "\n\n\n") count as one. Empty:
  // the whole text is one document.
  std::string separator;
  Slice slice;
  // Longer documents come in pieces. The first has at least this size, others about that.
  size_t piece_bytes = kHeadBytes;
};

// Returns how many bytes before a slice the stream has to begin, so that the slice's border can be
// found.
size_t bytes_before_slice(const std::string& separator);

// `stream` begins bytes_before_slice() before the slice, or with the text. If the text is one
// document, a slice begins with its first plain cut (tokenizer/split.h), so that the ids of all
// slices together are those of the text. It begins in the first slice and ends in the last that is
// not empty.
std::unique_ptr<DocumentReader> read_text(std::unique_ptr<ByteStream> stream,
                                          const TextOptions& options,
                                          const std::string& name);

}  // namespace shoal::data

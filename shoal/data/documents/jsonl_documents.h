// jsonl_documents.h -- one JSON object per line, of which one field is the text, or two are a
// prompt and its completion.
#pragma once

#include <memory>
#include <string>

#include "shoal/data/documents/document.h"

namespace shoal::data {

struct JsonlOptions {
  TextFields fields;
  Slice slice;
  size_t max_line_bytes = size_t{256} << 20;
};

// `stream` begins one byte before the slice, or with the text. Throws DataError with `name`, the
// file's, and the line that is wrong. Blank lines and documents without text are skipped, null is no
// text, and what other fields hold does not matter. A byte order mark may precede the text.
std::unique_ptr<DocumentReader> read_jsonl(std::unique_ptr<ByteStream> stream,
                                           const JsonlOptions& options,
                                           const std::string& name);

}  // namespace shoal::data

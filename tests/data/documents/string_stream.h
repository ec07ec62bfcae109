// string_stream.h -- a text as a stream, and what a reader makes of it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/documents/document.h"

namespace shoal::data {

// At most `at_once` bytes at a time.
class StringStream : public ByteStream {
 public:
  StringStream(std::string_view text, size_t at_once) : rest_(text), at_once_(at_once) {}

  size_t read(std::span<char> to) override {
    const size_t count = std::min({to.size(), rest_.size(), at_once_});
    std::copy_n(rest_.begin(), count, to.begin());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
  size_t at_once_;
};

using Texts = std::vector<std::string>;

// One text per document, with "prompt|" before it if it has one; the first may have begun in another
// slice.
inline Texts texts_of(DocumentReader& reader) {
  Texts texts;
  for (Document document; reader.next(document);) {
    if (document.begins || texts.empty()) texts.emplace_back();
    if (!document.prompt.empty()) texts.back().append(document.prompt).append("|");
    texts.back().append(document.text);
  }
  return texts;
}

}  // namespace shoal::data

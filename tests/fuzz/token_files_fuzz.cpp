// Any bytes as a token file: read or refused with a DataError. What can be read has as many ids as
// it says, all of them in the vocabulary, and the same documents whatever the size of the parts.
//
// The first byte of the input chooses the format and the mark, the second the length of the index
// of a Megatron file; the rest is the file, or first the index and then the ids.

#include <algorithm>
#include <string_view>

#include "shoal/core/error.h"
#include "shoal/data/token_files/readers.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::data;  // NOLINT(google-build-using-namespace)
using shoal::tests::require;

using Status = TokenFile::Status;

constexpr uint32_t kVocabSize = 1000;

std::unique_ptr<TokenFileReader> open(std::string_view input) {
  const auto choice = static_cast<uint8_t>(input[0]);
  const auto index_size = static_cast<uint8_t>(input[1]);
  input.remove_prefix(2);
  TokenFileOptions options{.vocab_size = kVocabSize};
  if ((choice & 4) != 0)
    options.mark = DocumentMark{7, (choice & 8) != 0 ? MarkPlace::kFirst : MarkPlace::kLast};
  if ((choice & 16) != 0) options.bytes_per_id = 1U << (choice >> 6);
  switch (choice & 3) {
    case 0:
      return read_nano_gpt({"x.bin", input}, options);
    case 1:
      return read_llm_c({"x.bin", input}, options);
    case 2:
      return read_olmo({"x.npy", input}, options);
    default: {
      const std::string_view index = input.substr(0, index_size);
      return read_megatron({"x.idx", index}, {"x.bin", input.substr(index.size())}, options);
    }
  }
}

struct Content {
  std::vector<TokenId> ids;
  std::vector<size_t> ends;
  bool whole = true;  // false: an id was refused on the way
};

Content read(std::string_view input, size_t max_tokens) {
  const std::unique_ptr<TokenFileReader> reader = open(input);
  Content content;
  try {
    for (;;) {
      const size_t before = content.ids.size();
      const Status status = reader->next(max_tokens, content.ids);
      const size_t got = content.ids.size() - before;
      require(got <= max_tokens);
      if (status == Status::kEnd) {
        require(got == 0);
        break;
      }
      if (status == Status::kMore) require(got == max_tokens);
      if (status == Status::kDocumentEnds) content.ends.push_back(content.ids.size());
    }
  } catch (const shoal::DataError&) {
    content.whole = false;
    return content;
  }
  require(content.ids.size() == reader->tokens());
  for (const TokenId id : content.ids) require(id < kVocabSize);
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const Content at_once = read(input, size + 1);
    const Content in_parts = read(input, 3);
    require(at_once.whole == in_parts.whole);
    if (!at_once.whole) return 0;
    require(at_once.ids == in_parts.ids);
    require(at_once.ends == in_parts.ends);
  } catch (const shoal::DataError&) {
    return 0;
  }
  return 0;
}

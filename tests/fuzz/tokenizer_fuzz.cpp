// Any bytes as a tokenizer.json: read or refused with a DataError, never a crash or a table as large as
// the file says. What can be read encodes any text to ids that give the text back; in pieces that are
// the same however they are found.

#include <string_view>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/data/tokenizer/readers.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::data;  // NOLINT(google-build-using-namespace)
using shoal::tests::require;

std::shared_ptr<const Tokenizer> read(std::string_view bytes) {
  try {
    return std::make_shared<const Tokenizer>(parts_of_tokenizer_json(bytes));
  } catch (const shoal::DataError&) {
  }
  try {
    if (is_symbol_json(bytes))
      return std::make_shared<const Tokenizer>(parts_of_symbol_json(bytes));
    return std::make_shared<const Tokenizer>(parts_of_tiktoken(bytes));
  } catch (const shoal::DataError&) {
    return nullptr;
  }
}

void try_pieces(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::array<const char*, kFewestPlaces + 5> ends;
  for (const Pattern pattern : {Pattern::kGpt2, Pattern::kCl100k, Pattern::kO200k}) {
    const char* slow = text.data();
    for (const char* at = text.data(); at != end;) {
      const size_t count = next_pieces(pattern, at, end, ends);
      require(count > 0);
      for (size_t i = 0; i < count; ++i) {
        slow = next_piece(pattern, slow, end);
        require(slow == ends[i]);
      }
      at = ends[count - 1];
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_pieces(bytes);
  const auto tokenizer = read(bytes);
  if (!tokenizer) return 0;
  Encoder encoder(tokenizer);
  std::vector<TokenId> ids;
  try {
    encoder.encode(bytes, ids);
  } catch (const shoal::DataError&) {
    require(tokenizer->closed());  // nothing else may be unable to encode something
    return 0;
  }
  require(tokenizer->pattern() == Pattern::kWord || tokenizer->decode(ids) == bytes);
  return 0;
}

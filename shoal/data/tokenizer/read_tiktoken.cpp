
#include <sodium.h>

#include "shoal/core/error.h"
#include "shoal/core/number_in.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {
namespace {

std::string bytes_of_base64(std::string_view text, size_t line) {
  std::string bytes(text.size(), '\0');
  size_t size = 0;
  const char* end = nullptr;
  const int failed =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, &end, sodium_base64_VARIANT_ORIGINAL);
  if (failed != 0 || end != text.data() + text.size())
    throw DataError(format("line {} does not begin with base64", line));
  bytes.resize(size);
  return bytes;
}

TokenId rank_of(std::string_view text, size_t line) {
  const auto rank = number_in<TokenId>(text);
  if (!rank) throw DataError(format("line {} does not end with a rank", line));
  return *rank;
}

}  // namespace

TokenizerParts parts_of_tiktoken(std::string_view lines) {
  TokenizerParts parts;
  parts.ranks_are_ids = true;
  parts.ignore_merges = true;
  for (size_t number = 1; !lines.empty(); ++number) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos)
      throw DataError(format("line {} is not 'base64 rank'", number));
    parts.vocabulary.add(rank_of(line.substr(space + 1), number),
                         bytes_of_base64(line.substr(0, space), number));
  }
  return parts;
}

}  // namespace shoal::data

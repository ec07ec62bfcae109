#include "shoal/data/tokenizer/vocabulary.h"

#include "shoal/core/error.h"

namespace shoal::data {

void Vocabulary::add(TokenId id, std::string_view bytes) {
  if (bytes.empty()) throw DataError(format("token {} is empty", id));
  if (bytes.size() > kMaxTokenBytes) {
    throw DataError(
        format("token {} has {} bytes, but {} are the most", id, bytes.size(), kMaxTokenBytes));
  }
  if (id >= 4 * kMaxTokens || ids_.size() >= kMaxTokens) {
    throw DataError(format("token {} is beyond the limit of {} tokens", id, kMaxTokens));
  }
  if (has(id)) throw DataError(format("id {} has two tokens", id));
  if (!ids_.emplace(bytes, id).second) {
    throw DataError(format("the bytes of token {} belong to token {} already", id, *find(bytes)));
  }
  if (id >= spans_.size()) spans_.resize(id + 1);
  spans_[id] = {bytes_.size(), bytes.size()};
  bytes_ += bytes;
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
  const auto found = ids_.find(bytes);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::string_view Vocabulary::bytes_of(TokenId id) const {
  if (id >= spans_.size()) return {};
  return std::string_view(bytes_).substr(spans_[id].first, spans_[id].size);
}

}  // namespace shoal::data

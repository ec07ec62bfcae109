#include "shoal/data/tokenizer/vocabulary.h"

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

namespace shoal::data {

void Vocabulary::add(TokenId id, std::string_view bytes) {
  if (bytes.empty()) throw DataError(format("token {} is empty", id));
  if (bytes.size() > kMaxTokenBytes) {
    throw DataError(
        format("token {} has {} bytes, but {} are the most", id, bytes.size(), kMaxTokenBytes));
  }
  if (id >= 4 * kMaxTokens || size_ >= kMaxTokens) {
    throw DataError(format("token {} is beyond the limit of {} tokens", id, kMaxTokens));
  }
  if (has(id)) throw DataError(format("id {} has two tokens", id));
  if (2 * size_ >= slots_.size()) grow();
  const size_t slot = slot_of(bytes);
  if (slots_[slot] != 0) {
    throw DataError(
        format("the bytes of token {} belong to token {} already", id, slots_[slot] - 1));
  }
  slots_[slot] = id + 1;
  ++size_;
  if (id >= spans_.size()) spans_.resize(id + 1);
  spans_[id] = {bytes_.size(), bytes.size()};
  bytes_ += bytes;
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
  const uint32_t found = slots_[slot_of(bytes)];
  if (found == 0) return std::nullopt;
  return found - 1;
}

size_t Vocabulary::slot_of(std::string_view bytes) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = xxh3_64(bytes) & mask;
  while (slots_[slot] != 0 && bytes_of(slots_[slot] - 1) != bytes) slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::grow() {
  slots_.assign(4 * slots_.size(), 0);
  for (TokenId id = 0; id < spans_.size(); ++id) {
    if (has(id)) slots_[slot_of(bytes_of(id))] = id + 1;
  }
}

std::string_view Vocabulary::bytes_of(TokenId id) const {
  if (id >= spans_.size()) return {};
  return std::string_view(bytes_).substr(spans_[id].first, spans_[id].size);
}

}  // namespace shoal::data

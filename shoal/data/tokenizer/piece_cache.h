// piece_cache.h -- pieces that were encoded before, and their tokens: most words of a text. Private to
// tokenizer/.
//
// For pieces of at most 15 bytes, which with their length are a key of two words that two loads bring
// and one comparison settles. Up to three tokens lie beside the key; more are kept apart.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "shoal/data/tokenizer/merge_table.h"

namespace shoal::data {

struct PieceKey {
  static constexpr size_t kMaxBytes = 15;

  uint64_t low = 0;
  uint64_t high = 0;  // the length is the highest byte, so that no piece has the key 0, 0

  // `size` bytes from `at`, of which 16 may be read.
  static PieceKey of_padded(const char* at, size_t size) {
    PieceKey key;
    std::memcpy(&key.low, at, sizeof(key.low));
    std::memcpy(&key.high, at + sizeof(key.low), sizeof(key.high));
    if (size < 8) {
      key.low &= ~uint64_t{0} >> (8 * (8 - size));
      key.high = 0;
    } else {
      key.high &= (uint64_t{1} << (8 * (size - 8))) - 1;
    }
    key.high |= uint64_t{size} << 56U;
    return key;
  }

  static PieceKey of(const char* at, size_t size) {
    char padded[16] = {};
    std::memcpy(padded, at, size);
    return of_padded(padded, size);
  }

  [[nodiscard]] uint64_t hash() const {
    const uint64_t mixed = (low ^ 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U ^ high;
    return (mixed ^ mixed >> 32U) * 0xA0761D6478BD642FU;
  }

  bool operator==(const PieceKey&) const = default;
};

class PieceCache {
 public:
  explicit PieceCache(size_t capacity = 1 << 14) { resize(capacity); }

  static constexpr uint32_t kInline = 3;

  struct Entry {
    PieceKey key;
    uint32_t tokens[kInline];  // or, when there are more, tokens[0] is where they begin
    uint32_t count;
  };

  // nullptr when the piece is new.
  [[nodiscard]] const Entry* find(const PieceKey& key) const {
    for (size_t i = slot_of(key);; i = (i + 1) & mask_) {
      const Entry& entry = entries_[i];
      if (entry.key == key) return &entry;
      if (entry.key.high == 0) return nullptr;
    }
  }

  [[nodiscard]] std::span<const TokenId> tokens_of(const Entry& entry) const {
    if (entry.count <= kInline) return {entry.tokens, entry.count};
    return {more_.data() + entry.tokens[0], entry.count};
  }

  // Of a key that is not there. Forgets everything when it has grown too large.
  void add(const PieceKey& key, std::span<const TokenId> tokens) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    Entry entry{key, {}, static_cast<uint32_t>(tokens.size())};
    if (tokens.size() <= kInline) {
      std::copy(tokens.begin(), tokens.end(), entry.tokens);
    } else {
      entry.tokens[0] = static_cast<uint32_t>(more_.size());
      more_.insert(more_.end(), tokens.begin(), tokens.end());
    }
    place(entry);
    ++size_;
  }

 private:
  static constexpr size_t kMaxCapacity = 1 << 21;  // 64 MiB

  [[nodiscard]] size_t slot_of(const PieceKey& key) const {
    return static_cast<size_t>(key.hash() >> shift_);
  }

  void resize(size_t capacity) {
    entries_.assign(capacity, Entry{});
    mask_ = capacity - 1;
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(capacity));
  }

  void place(const Entry& entry) {
    size_t i = slot_of(entry.key);
    while (entries_[i].key.high != 0) i = (i + 1) & mask_;
    entries_[i] = entry;
  }

  void grow() {
    if (entries_.size() >= kMaxCapacity) {
      resize(entries_.size());
      more_.clear();
      size_ = 0;
      return;
    }
    const std::vector<Entry> before = std::move(entries_);
    resize(4 * before.size());
    for (const Entry& entry : before) {
      if (entry.key.high != 0) place(entry);
    }
  }

  std::vector<Entry> entries_;
  std::vector<TokenId> more_;
  size_t mask_ = 0;
  unsigned shift_ = 0;
  size_t size_ = 0;
};

}  // namespace shoal::data

// piece_cache.h -- a cache of encoded pieces and their tokens, which covers most words of a text.
// Private to tokenizer/.
//
// Pieces have at most 15 bytes; with their length they are a key of two words, which two loads
// fetch and one comparison checks. Up to three tokens lie beside the key; more are stored apart.
#pragma once

#include <algorithm>
#include <array>
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
  uint64_t high = 0;  // the highest byte is the length, so that no piece has the key 0, 0

  // Makes the key of `size` bytes from `at`, from where 16 bytes must be readable.
  static PieceKey of_padded(const char* at, size_t size) {
    PieceKey key;
    std::memcpy(&key.low, at, sizeof(key.low));
    std::memcpy(&key.high, at + sizeof(key.low), sizeof(key.high));
    key.low &= kMasks[size].low;
    key.high = (key.high & kMasks[size].high) | uint64_t{size} << 56U;
    return key;
  }

  static PieceKey of(const char* at, size_t size) {
    char padded[16] = {};
    std::memcpy(padded, at, size);
    return of_padded(padded, size);
  }

  [[nodiscard]] uint64_t hash() const {
    return low * 0x9E3779B97F4A7C15U + high * 0xD6E8FEB86659FD93U;  // its highest bits are used
  }

  bool operator==(const PieceKey& other) const {  // no branch between the halves
    return ((low ^ other.low) | (high ^ other.high)) == 0;
  }

 private:
  struct Mask {
    uint64_t low = 0;
    uint64_t high = 0;
  };

  static constexpr std::array<Mask, kMaxBytes + 1> make_masks() {
    std::array<Mask, kMaxBytes + 1> masks{};
    for (size_t size = 0; size <= kMaxBytes; ++size) {
      for (size_t byte = 0; byte < size; ++byte) {
        uint64_t& half = byte < 8 ? masks[size].low : masks[size].high;
        half |= uint64_t{0xFF} << (8 * (byte % 8));
      }
    }
    return masks;
  }

  static const std::array<Mask, kMaxBytes + 1> kMasks;
};

inline constexpr std::array<PieceKey::Mask, PieceKey::kMaxBytes + 1> PieceKey::kMasks =
    PieceKey::make_masks();

class PieceCache {
 public:
  PieceCache() { forget(); }

  static constexpr uint32_t kInline = 3;

  struct Entry {
    PieceKey key;
    // Up to three tokens, or where more of them begin; the last word is their number.
    std::array<uint32_t, kInline + 1> words;

    [[nodiscard]] uint32_t count() const { return words[kInline]; }
  };

  // Returns nullptr when the piece is new. The entry is valid until the next add().
  [[nodiscard]] const Entry* find(const PieceKey& key) const {
    for (size_t i = slot_of(key);; i = (i + 1) & mask_) {
      const uint32_t slot = slots_[i];
      const Entry& entry = entries_[slot];
      if (entry.key == key) return &entry;
      if (slot == 0) return nullptr;
    }
  }

  [[nodiscard]] std::span<const TokenId> tokens_of(const Entry& entry) const {
    const bool here = entry.count() <= kInline;
    return {here ? entry.words.data() : more_.data() + entry.words[0], entry.count()};
  }

  // Adds a key that is not there. Clears the cache first when it has grown too large.
  void add(const PieceKey& key, std::span<const TokenId> tokens) {
    if (entries_.size() >= kMaxEntries) forget();
    if (4 * entries_.size() > slots_.size()) grow();
    Entry& entry = entries_.emplace_back(Entry{key, {}});
    entry.words[kInline] = static_cast<uint32_t>(tokens.size());
    if (tokens.size() <= kInline) {
      std::copy(tokens.begin(), tokens.end(), entry.words.begin());
    } else {
      entry.words[0] = static_cast<uint32_t>(more_.size());
      more_.insert(more_.end(), tokens.begin(), tokens.end());
    }
    place(static_cast<uint32_t>(entries_.size() - 1));
  }

 private:
  static constexpr size_t kMaxEntries = 1 << 20;  // 32 MiB, and 16 MiB of slots
  static constexpr size_t kFirstSlots = 1 << 14;

  [[nodiscard]] size_t slot_of(const PieceKey& key) const {
    return static_cast<size_t>(key.hash() >> shift_);
  }

  void forget() {
    entries_.assign(1, Entry{});  // the entry of empty slots: no piece has its key
    more_.clear();
    resize(kFirstSlots);
  }

  void resize(size_t slots) {
    slots_.assign(slots, 0);
    mask_ = slots - 1;
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots));
  }

  void place(uint32_t index) {
    size_t i = slot_of(entries_[index].key);
    while (slots_[i] != 0) i = (i + 1) & mask_;
    slots_[i] = index;
  }

  void grow() {
    resize(4 * slots_.size());
    for (uint32_t i = 1; i < entries_.size(); ++i) place(i);
  }

  // Entries are stored in the order of their first use, so that common words share few cache lines;
  // the slots that lead to them are small.
  std::vector<uint32_t> slots_;
  std::vector<Entry> entries_;
  std::vector<TokenId> more_;
  size_t mask_ = 0;
  unsigned shift_ = 0;
};

}  // namespace shoal::data

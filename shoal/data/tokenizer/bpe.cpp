#include "shoal/data/tokenizer/bpe.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/vocabulary.h"

namespace shoal::data {
namespace {

constexpr size_t kLongestScan = 192;
constexpr size_t kScanStep = 16;
constexpr uint32_t kPlaceBits = 8;
constexpr uint32_t kPlaceMask = (1U << kPlaceBits) - 1;
static_assert(4 * kMaxTokens <= Merge::kNever >> kPlaceBits,
              "a rank and a place fit into one word");
constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();
constexpr size_t kLongestPiece = size_t{1} << 31;

// Compiled twice: the wide minimum that it lives on is not in every x86-64.
__attribute__((target_clones("avx2", "default"))) uint32_t smallest(const uint32_t* words,
                                                                    size_t count) {
  uint32_t best = ~uint32_t{0};
  for (size_t i = 0; i < count; ++i) best = std::min(best, words[i]);
  return best;
}

TokenId token_of(const std::array<TokenId, 256>& byte_tokens, char byte) {
  return byte_tokens[static_cast<unsigned char>(byte)];
}

}  // namespace

void Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  if (piece.empty()) return;
  if (piece.size() == 1) {
    out.push_back(token_of(byte_tokens_, piece[0]));
  } else if (piece.size() <= kLongestScan) {
    encode_short(piece, out);
  } else {
    encode_long(piece, scratch, out);
  }
}

// Each place has a word made of the rank of the merge with its right neighbour and of the place itself,
// so that the smallest word says which merge goes first, and where.
void Bpe::encode_short(std::string_view piece, std::vector<TokenId>& out) const {
  static_assert(kLongestScan <= kPlaceMask + 1);
  constexpr uint32_t kNoMerge = ~uint32_t{0};
  const auto count = static_cast<uint32_t>(piece.size());
  alignas(64) std::array<uint32_t, kLongestScan> words;
  std::array<TokenId, kLongestScan> tokens;
  std::array<TokenId, kLongestScan> results;
  std::array<uint8_t, kLongestScan> before;
  std::array<uint8_t, kLongestScan> after;  // `count` behind the last
  const auto look = [&](uint32_t i) {
    words[i] = kNoMerge;
    if (after[i] == count) return;
    const Merge merge = merges_.find(tokens[i], tokens[after[i]]);
    if (merge.rank == Merge::kNever) return;
    words[i] = merge.rank << kPlaceBits | i;
    results[i] = merge.result;
  };
  for (uint32_t i = 0; i < count; ++i) {
    tokens[i] = token_of(byte_tokens_, piece[i]);
    before[i] = static_cast<uint8_t>(i - 1);
    after[i] = static_cast<uint8_t>(i + 1);
  }
  for (uint32_t i = 0; i < count; ++i) look(i);
  const size_t scanned = (count + kScanStep - 1) / kScanStep * kScanStep;
  std::fill(words.begin() + count, words.begin() + static_cast<ptrdiff_t>(scanned), kNoMerge);
  for (;;) {
    const uint32_t best = smallest(words.data(), scanned);
    if (best == kNoMerge) break;
    const uint32_t at = best & kPlaceMask;
    const uint32_t merged = after[at];
    tokens[at] = results[at];
    words[merged] = kNoMerge;
    after[at] = after[merged];
    if (after[at] != count) before[after[at]] = static_cast<uint8_t>(at);
    look(at);
    if (at != 0) look(before[at]);
  }
  for (uint32_t i = 0; i != count; i = after[i]) out.push_back(tokens[i]);
}

// The pairs that can merge wait in a heap, ordered by rank and then place. A pair that has changed
// since it was put there is recognized by its rank, which tells the token that the merge gives.
void Bpe::encode_long(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  SHOAL_CHECK(piece.size() < kLongestPiece, "a piece of {} bytes", piece.size());
  std::vector<Scratch::Link>& links = scratch.links_;
  std::vector<uint64_t>& heap = scratch.heap_;
  const auto count = static_cast<uint32_t>(piece.size());
  links.resize(count);
  heap.clear();
  for (uint32_t i = 0; i < count; ++i) {
    links[i] = {token_of(byte_tokens_, piece[i]), i == 0 ? kNobody : i - 1,
                i + 1 == count ? kNobody : i + 1};
  }
  const auto merge_at = [&](uint32_t i) {
    return links[i].after == kNobody ? Merge{}
                                     : merges_.find(links[i].token, links[links[i].after].token);
  };
  const auto entry = [](Merge merge, uint32_t place) {
    return uint64_t{merge.rank} << 32U | place;
  };
  for (uint32_t i = 0; i + 1 < count; ++i) {
    const Merge merge = merge_at(i);
    if (merge.rank != Merge::kNever) heap.push_back(entry(merge, i));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](uint32_t i) {
    const Merge merge = merge_at(i);
    if (merge.rank == Merge::kNever) return;
    heap.push_back(entry(merge, i));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    const uint64_t first = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto i = static_cast<uint32_t>(first);
    Scratch::Link& left = links[i];
    if (left.token == kNobody) continue;  // has become part of its left neighbour
    const Merge merge = merge_at(i);
    if (merge.rank != first >> 32U) continue;
    Scratch::Link& right = links[left.after];
    left.token = merge.result;
    left.after = right.after;
    right.token = kNobody;
    if (left.after != kNobody) links[left.after].before = i;
    push(i);
    if (left.before != kNobody) push(left.before);
  }
  for (uint32_t i = 0; i != kNobody; i = links[i].after) out.push_back(links[i].token);
}

}  // namespace shoal::data

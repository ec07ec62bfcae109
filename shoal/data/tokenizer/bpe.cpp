#include "shoal/data/tokenizer/bpe.h"

#include <algorithm>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

constexpr size_t kLongestScan = 192;
constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();
constexpr size_t kLongestPiece = size_t{1} << 31;

TokenId token_of(const std::array<TokenId, 256>& byte_tokens, char byte) {
  return byte_tokens[static_cast<unsigned char>(byte)];
}

}  // namespace

void Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  if (piece.empty()) return;
  if (piece.size() == 1) {
    out.push_back(token_of(byte_tokens_, piece[0]));
  } else if (piece.size() <= kLongestScan) {
    encode_short(piece, scratch, out);
  } else {
    encode_long(piece, scratch, out);
  }
}

void Bpe::encode_short(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  // tokens[i] and tokens[i + 1] merge into results[i], with ranks[i]; the last has no right neighbour.
  std::array<TokenId, kLongestScan> tokens;
  std::array<TokenId, kLongestScan> results;
  std::array<uint32_t, kLongestScan> ranks;
  size_t count = piece.size();
  const auto look = [&](size_t i) {
    const Merge merge = merges_.find(tokens[i], tokens[i + 1]);
    ranks[i] = merge.rank;
    results[i] = merge.result;
  };
  for (size_t i = 0; i < count; ++i) tokens[i] = token_of(byte_tokens_, piece[i]);
  for (size_t i = 0; i + 1 < count; ++i) look(i);
  (void)scratch;
  while (count > 1) {
    uint32_t best = Merge::kNever;
    for (size_t i = 0; i + 1 < count; ++i) best = std::min(best, ranks[i]);
    if (best == Merge::kNever) break;
    const auto at = static_cast<size_t>(
        std::find(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(count), best) -
        ranks.begin());
    tokens[at] = results[at];
    const auto close_gap = [&](auto& values) {
      std::copy(values.begin() + static_cast<ptrdiff_t>(at) + 2,
                values.begin() + static_cast<ptrdiff_t>(count),
                values.begin() + static_cast<ptrdiff_t>(at) + 1);
    };
    close_gap(tokens);
    close_gap(ranks);
    close_gap(results);
    --count;
    if (at + 1 < count) look(at);
    if (at > 0) look(at - 1);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(count));
}

// The pairs that can merge wait in a heap, ordered by rank and then place. A pair that has changed
// since it was put there is recognized by its rank: every rank belongs to one pair of tokens.
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

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
constexpr size_t kLongestMerged = size_t{1} << 31;

[[gnu::always_inline]] inline uint32_t smallest_of(const uint32_t* words, size_t count) {
  uint32_t best = ~uint32_t{0};
  for (size_t i = 0; i < count; ++i) best = std::min(best, words[i]);
  return best;
}

// Compiled twice: the wide minimum that it lives on is not in every x86-64. Chosen here and not by the
// loader (target_clones), which would call instrumented code before ThreadSanitizer is ready.
#if defined(__x86_64__)
[[gnu::target("avx2")]] uint32_t smallest_by_avx2(const uint32_t* words, size_t count) {
  return smallest_of(words, count);
}
#endif

uint32_t smallest(const uint32_t* words, size_t count) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  if (wide) return smallest_by_avx2(words, count);
#endif
  return smallest_of(words, count);
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

void Bpe::encode_long(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  SHOAL_CHECK(piece.size() < kLongestMerged, "a piece of {} bytes", piece.size());
  std::vector<Scratch::Link>& links = scratch.links_;
  RankQueue& queue = scratch.queue_;
  const auto count = static_cast<uint32_t>(piece.size());
  links.resize(count);
  queue.reset(merges_.rank_limit());
  for (uint32_t i = 0; i < count; ++i) {
    links[i] = {token_of(byte_tokens_, piece[i]), Merge{}, i - 1, i + 1};
  }
  const auto look = [&](uint32_t i) {
    Scratch::Link& link = links[i];
    link.merge = link.after == count ? Merge{} : merges_.find(link.token, links[link.after].token);
    if (link.merge.rank != Merge::kNever) queue.add(link.merge.rank, i);
  };
  for (uint32_t i = 0; i < count; ++i) look(i);
  while (const auto next = queue.take()) {
    Scratch::Link& left = links[next->place];
    if (left.merge.rank != next->rank) continue;  // one of its two has merged otherwise since
    Scratch::Link& right = links[left.after];
    left.token = left.merge.result;
    left.after = right.after;
    right.merge = {};
    if (left.after != count) links[left.after].before = next->place;
    look(next->place);
    if (next->place != 0) look(left.before);
  }
  for (uint32_t i = 0; i != count; i = links[i].after) out.push_back(links[i].token);
}

}  // namespace shoal::data

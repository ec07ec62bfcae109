// tensor_split.h -- which features each tensor-parallel rank has. The shares of ranks differ by at
// most one thing, or one group of things that stay together, and cover the whole.
//
//   share_of(50'257, {.ranks = 4, .rank = 1});          // {12564, 12564}
//   share_of_groups(32, 4, {.ranks = 3, .rank = 2});    // 32 queries in 8 groups, for the third of three: {20, 12}
#pragma once

#include <cstdint>
#include <vector>

namespace shoal::blueprint {

// A rank's place in its tensor-parallel group.
struct TensorPlace {
  int ranks = 1;
  int rank = 0;

  bool operator==(const TensorPlace&) const = default;
};

struct Share {
  int64_t begin = 0;
  int64_t count = 0;

  bool operator==(const Share&) const = default;
};

// Returns the size of the largest share.
int64_t largest_share(int64_t all, int ranks);

Share share_of(int64_t all, const TensorPlace& place);

// Returns this rank's share of `count` things in groups of `per_group`. Groups stay whole while
// there are at least as many groups as ranks, or per_group is 1. Otherwise their number must divide
// the ranks, and each group is split over ranks / groups ranks.
Share share_of_groups(int64_t count, int64_t per_group, const TensorPlace& place);

// Returns this rank's share of `count` things of which each rank needs at least one whole. If there
// are fewer things than ranks, their number must divide the ranks, and ranks / count ranks have the
// same one: that of the group that share_of_groups() returns.
Share share_of_whole(int64_t count, const TensorPlace& place);

// Features as equal things that ranks split: heads, or single features of an MLP.
struct Features {
  int64_t count = 0;
  int64_t width = 1;  // features per thing
  // Things that stay on one rank while there are enough groups: query heads that share a key head.
  int64_t per_group = 1;
  bool shared = false;  // with fewer things than ranks, several ranks need each: keys, values

  [[nodiscard]] int64_t size() const { return count * width; }
  // Returns whether a rank's share is less than the things it needs, so that ranks gather the rest.
  [[nodiscard]] bool gathered(int ranks) const { return shared && count < ranks; }
};

int64_t size_of(const std::vector<Features>& side_by_side);

// Returns this rank's share, counted in single features.
Share share_of(const Features& features, const TensorPlace& place);

// The attention heads of one rank.
struct LocalHeads {
  int heads = 0;
  int kv_heads = 0;
  int first_head = 0;
};

LocalHeads local_heads(int heads, int kv_heads, const TensorPlace& place);

}  // namespace shoal::blueprint

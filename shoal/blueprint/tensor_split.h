// tensor_split.h -- which features each tensor-parallel rank has. The ranks' shares differ by at most one thing, and
// together they make up the whole.
//
//   share_of(50'257, {.ranks = 4, .rank = 1});          // {12564, 12564}
//   share_of_groups(32, 4, {.ranks = 3, .rank = 2});    // 32 queries in 8 groups, for the third of three: {20, 12}
#pragma once

#include <cstdint>
#include <vector>

namespace shoal::blueprint {

// Where a rank stands among those that split every matrix.
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

// What every rank's share fits in.
int64_t largest_share(int64_t all, int ranks);

Share share_of(int64_t all, const TensorPlace& place);

// Of things in groups of `per_group`: whole groups while there are enough of them. Else the groups must
// divide the ranks, and each is split over ranks / groups of them.
Share share_of_groups(int64_t count, int64_t per_group, const TensorPlace& place);

// Of things of which each rank needs at least one whole: with fewer of them than ranks, which they must
// divide, ranks / count ranks have the same one. It is the one of the group that share_of_groups() gives.
Share share_of_whole(int64_t count, const TensorPlace& place);

// Features as equal things that ranks split: heads, or single features of an MLP.
struct Features {
  int64_t count = 0;
  int64_t width = 1;  // features of each thing
  int64_t per_group =
      1;  // so many stay on one rank while there are groups for all: queries that share keys
  bool shared = false;  // where there are fewer than ranks, several ranks need each: keys, values

  [[nodiscard]] int64_t size() const { return count * width; }
  // Whether a rank's share is less than the things it needs, so that ranks gather them from each other.
  [[nodiscard]] bool gathered(int ranks) const { return shared && count < ranks; }
};

int64_t size_of(const std::vector<Features>& side_by_side);

// In single features.
Share share_of(const Features& features, const TensorPlace& place);

// The heads of a rank, of all that a model has.
struct LocalHeads {
  int heads = 0;
  int kv_heads = 0;
  int first_head = 0;
};

LocalHeads local_heads(int heads, int kv_heads, const TensorPlace& place);

}  // namespace shoal::blueprint

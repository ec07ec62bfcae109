// tensor_split.h -- which features each of `ranks` tensor-parallel ranks has. Parts differ by at most
// one thing, and the parts of all ranks make up the whole.
//
//   share_of(50'257, 4, 1);           // {12564, 12564}
//   share_of_groups(32, 4, 3, 2);     // 32 queries in 8 groups, for the third of three: {20, 12}
#pragma once

#include <cstdint>

namespace shoal::plan {

struct Share {
  int64_t begin = 0;
  int64_t count = 0;

  bool operator==(const Share&) const = default;
};

// What every rank's part fits in.
int64_t largest_share(int64_t all, int ranks);

Share share_of(int64_t all, int ranks, int rank);

// Of things in groups of `per_group`: whole groups while there are enough of them. Else the groups must
// divide the ranks, and each is split over ranks / groups of them.
Share share_of_groups(int64_t count, int64_t per_group, int ranks, int rank);

// Of things of which each rank needs at least one whole: with fewer of them than ranks, which they must
// divide, ranks / count ranks have the same one. It is the one of the group that share_of_groups() gives.
Share share_of_whole(int64_t count, int ranks, int rank);

}  // namespace shoal::plan

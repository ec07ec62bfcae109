#include "shoal/plan/tensor_split.h"

#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"

namespace shoal::plan {

int64_t largest_share(int64_t all, int ranks) { return (all + ranks - 1) / ranks; }

Share share_of(int64_t all, int ranks, int rank) {
  const auto begin_of = [&](int index) {
    return static_cast<int64_t>(even_part_begin(
        static_cast<uint64_t>(all), static_cast<uint64_t>(index), static_cast<uint64_t>(ranks)));
  };
  const int64_t begin = begin_of(rank);
  return {.begin = begin, .count = begin_of(rank + 1) - begin};
}

Share share_of_groups(int64_t count, int64_t per_group, int ranks, int rank) {
  const int64_t groups = count / per_group;
  if (groups >= ranks || per_group == 1) {
    const Share whole = share_of(groups, ranks, rank);
    return {.begin = whole.begin * per_group, .count = whole.count * per_group};
  }
  SHOAL_CHECK(ranks % groups == 0, "{} groups for {} ranks", groups, ranks);
  const int ranks_of_group = static_cast<int>(ranks / groups);
  const Share inside = share_of(per_group, ranks_of_group, rank % ranks_of_group);
  return {.begin = rank / ranks_of_group * per_group + inside.begin, .count = inside.count};
}

Share share_of_whole(int64_t count, int ranks, int rank) {
  if (count >= ranks) return share_of(count, ranks, rank);
  SHOAL_CHECK(ranks % count == 0, "{} things for {} ranks", count, ranks);
  return {.begin = rank / (ranks / count), .count = 1};
}

}  // namespace shoal::plan

#include "shoal/blueprint/tensor_split.h"

#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"

namespace shoal::blueprint {

int64_t largest_share(int64_t all, int ranks) { return (all + ranks - 1) / ranks; }

Share share_of(int64_t all, const TensorPlace& place) {
  const auto begin_of = [&](int index) {
    return static_cast<int64_t>(even_part_begin(static_cast<uint64_t>(all),
                                                static_cast<uint64_t>(index),
                                                static_cast<uint64_t>(place.ranks)));
  };
  const int64_t begin = begin_of(place.rank);
  return {.begin = begin, .count = begin_of(place.rank + 1) - begin};
}

Share share_of_groups(int64_t count, int64_t per_group, const TensorPlace& place) {
  const int64_t groups = count / per_group;
  if (groups >= place.ranks || per_group == 1) {
    const Share whole = share_of(groups, place);
    return {.begin = whole.begin * per_group, .count = whole.count * per_group};
  }
  SHOAL_CHECK(place.ranks % groups == 0, "{} groups for {} ranks", groups, place.ranks);
  const int ranks_of_group = static_cast<int>(place.ranks / groups);
  const Share inside =
      share_of(per_group, {.ranks = ranks_of_group, .rank = place.rank % ranks_of_group});
  return {.begin = place.rank / ranks_of_group * per_group + inside.begin, .count = inside.count};
}

Share share_of_whole(int64_t count, const TensorPlace& place) {
  if (count >= place.ranks) return share_of(count, place);
  SHOAL_CHECK(place.ranks % count == 0, "{} things for {} ranks", count, place.ranks);
  return {.begin = place.rank / (place.ranks / count), .count = 1};
}

int64_t size_of(const std::vector<Features>& side_by_side) {
  int64_t size = 0;
  for (const Features& features : side_by_side) size += features.size();
  return size;
}

Share share_of(const Features& features, const TensorPlace& place) {
  if (features.gathered(place.ranks)) return share_of(features.size(), place);
  const Share things = share_of_groups(features.count, features.per_group, place);
  return {.begin = things.begin * features.width, .count = things.count * features.width};
}

LocalHeads local_heads(int heads, int kv_heads, const TensorPlace& place) {
  const Share queries = share_of_groups(heads, heads / kv_heads, place);
  return {.heads = static_cast<int>(queries.count),
          .kv_heads = static_cast<int>(share_of_whole(kv_heads, place).count),
          .first_head = static_cast<int>(queries.begin)};
}

}  // namespace shoal::blueprint

#include "shoal/parallel/tensor/tensor_rows.h"

#include <ATen/ATen.h>

#include "shoal/blueprint/tensor_split.h"

namespace shoal::parallel {

int64_t TensorRows::per_rank(int64_t count) const {
  return blueprint::largest_share(count, group_.size());
}

at::Tensor TensorRows::own(const at::Tensor& all) const {
  const int64_t count = all.size(0);
  const at::Tensor places =
      at::arange(first(count), first(count) + per_rank(count), all.options().dtype(at::kLong))
          .clamp_max_(count - 1);
  return all.index_select(0, places);
}

Arriving TensorRows::gather(const at::Tensor& own, int64_t count, const std::string& what) {
  const at::Tensor all = room(count, own.size(-1), own.options());
  return {all.narrow(0, 0, count), group_.all_gather(all, own.contiguous(), what)};
}

at::Tensor TensorRows::room(int64_t count,
                            int64_t columns,
                            const at::TensorOptions& options) const {
  return at::empty({per_rank(count) * group_.size(), columns}, options);
}

Arriving TensorRows::sum(const at::Tensor& room,
                         int64_t count,
                         Padding padding,
                         const std::string& what) {
  if (const int64_t behind = room.size(0) - count; behind > 0) {
    at::Tensor rest = room.narrow(0, count, behind);
    padding == Padding::kZeros ? rest.zero_() : rest.copy_(room.narrow(0, count - 1, 1));
  }
  const at::Tensor own = at::empty({per_rank(count), room.size(1)}, room.options());
  return {own, group_.reduce_scatter(own, room, comm::Reduce::kSum, what)};
}

}  // namespace shoal::parallel

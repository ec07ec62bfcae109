#include "shoal/checkpoint/spread_weights.h"

#include <ATen/ATen.h>

namespace shoal::checkpoint {

void set_weights(const parallel::ParallelModel& model,
                 const FlatOf& flat_of,
                 const ReadWhole& read) {
  const at::NoGradGuard no_grad;
  for (const parallel::UnitGroup* group : model.groups()) {
    const at::Tensor flat = flat_of(*group);
    for (const parallel::Piece& piece : group->pieces()) {
      const at::Tensor whole = at::empty(piece.weight->shape, flat.options().device(at::kCPU));
      read(*piece.weight, whole);
      flat.narrow(0, piece.offset, piece.count).copy_(parallel::part_of(whole, piece));
    }
  }
}

}  // namespace shoal::checkpoint

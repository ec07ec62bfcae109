#include "shoal/checkpoint/spread_weights.h"

#include <ATen/ATen.h>

namespace shoal::checkpoint {

void set_weights(parallel::ParallelModel& model, const ReadWhole& read) {
  const at::NoGradGuard no_grad;
  for (const auto& stage : model.stages()) {
    for (const auto& group : stage->groups()) {
      for (const parallel::Piece& piece : group->pieces()) {
        const at::Tensor whole =
            at::empty(piece.spec->shape, group->shard().options().device(at::kCPU));
        read(*piece.spec, whole);
        group->shard().narrow(0, piece.offset, piece.count).copy_(parallel::part_of(whole, piece));
      }
    }
  }
  model.changed();
}

}  // namespace shoal::checkpoint

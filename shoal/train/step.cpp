#include "shoal/train/step.h"

#include <ATen/ATen.h>

#include "shoal/parallel/stage.h"

namespace shoal::train {

at::Tensor forward_backward(const model::Decoder& decoder,
                            const model::Pass& pass,
                            config::Recompute recompute) {
  parallel::Stage stage(decoder, {}, {}, {.recompute = recompute});
  parallel::Stage::Kept kept;
  at::Tensor loss = stage.forward({}, pass, kept);
  stage.backward(kept, {}, /*last_micro_batch=*/true);
  return loss;
}

}  // namespace shoal::train

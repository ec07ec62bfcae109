#include "shoal/train/carried.h"

#include <type_traits>

#include <ATen/ops/from_blob.h>

namespace shoal::train {

std::optional<int64_t> Carried::steps_done() const {
  return torn ? std::nullopt : std::optional(reached.progress.step);
}

void Carried::sync_from(comm::Group pair, int source) {
  checkpoint::broadcast(state, pair, source);
  pair.broadcast(bytes_of(reached), source, "how far the run has come").wait();
  torn = false;
}

at::Tensor bytes_of(CarriedProgress& reached) {
  static_assert(std::is_trivially_copyable_v<CarriedProgress>);  // all ranks run the same program
  return at::from_blob(&reached, {sizeof(CarriedProgress)}, at::kByte);
}

}  // namespace shoal::train

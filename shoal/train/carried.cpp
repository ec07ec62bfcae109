#include "shoal/train/carried.h"

#include <type_traits>

#include <ATen/ops/from_blob.h>

namespace shoal::train {

std::optional<int64_t> Carried::steps_done() const {
  return torn ? std::nullopt : std::optional(standing.progress.step);
}

void Carried::exchange(comm::Group pair, int giver) {
  checkpoint::give(state, pair, giver);
  pair.broadcast(bytes_of(standing), giver, "how far the run has come").wait();
  torn = false;
}

at::Tensor bytes_of(Standing& standing) {
  static_assert(std::is_trivially_copyable_v<Standing>);  // all ranks run the same program
  return at::from_blob(&standing, {sizeof(Standing)}, at::kByte);
}

}  // namespace shoal::train

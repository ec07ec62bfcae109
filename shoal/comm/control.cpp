#include "shoal/comm/control.h"

#include <ATen/ops/full.h>

namespace shoal::comm {

Control::Control(
    Group block, std::optional<Group> leaders, int rank, int world_size, int block_size)
    : block_(std::move(block)),
      leaders_(std::move(leaders)),
      rank_(rank),
      world_size_(world_size),
      block_size_(block_size) {}

void Control::all_reduce(const at::Tensor& inout, Reduce op, std::string_view what) {
  if (one_block()) {
    block_.all_reduce(inout, op, what).wait_host();
    return;
  }
  // Blocks differ in size, so an average of averages would be wrong: sum, and divide at the end.
  const Reduce step = op == Reduce::kAvg ? Reduce::kSum : op;
  block_.reduce(inout, step, 0, what).wait_host();
  if (leaders_) leaders_->all_reduce(inout, step, what).wait_host();
  block_.broadcast(inout, 0, what).wait_host();
  if (op == Reduce::kAvg) inout.div_(world_size_);
}

void Control::broadcast(const at::Tensor& inout, int root, std::string_view what) {
  const int root_block = root / block_size_;
  const bool beside_root = rank_ / block_size_ == root_block;
  if (beside_root) block_.broadcast(inout, root % block_size_, what).wait_host();
  if (leaders_) leaders_->broadcast(inout, root_block, what).wait_host();
  if (!beside_root) block_.broadcast(inout, 0, what).wait_host();
}

void Control::barrier(std::string_view what) { any(false, what); }

bool Control::any(bool mine, std::string_view what) {
  const at::Tensor flag = at::full({1}, mine ? 1 : 0, at::kLong);
  all_reduce(flag, Reduce::kMax, what);
  return flag.const_data_ptr<int64_t>()[0] != 0;
}

}  // namespace shoal::comm

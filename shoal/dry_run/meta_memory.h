// meta_memory.h -- counts the bytes that tensors on the meta device would take, and their peak.
//
//   MetaMemory& memory = MetaMemory::installed();
//   const at::Tensor x = at::empty({1 << 30}, at::TensorOptions().device(at::kMeta));
//   memory.current()                     // 4 GiB, and no page of it
//
// A block is counted from its allocation until the last tensor on it is gone, as on a real device.
#pragma once

#include <algorithm>
#include <cstdint>

#include <c10/core/Allocator.h>

namespace shoal::dry_run {

class MetaMemory final : public c10::Allocator {
 public:
  // Returns the allocator of this process, which is used for all meta tensors made after the first
  // call. One thread uses it.
  static MetaMemory& installed();

  [[nodiscard]] int64_t current() const { return current_; }
  // Returns the peak since the last call, or since the first allocation.
  int64_t take_peak();

  c10::DataPtr allocate(size_t bytes) override;
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override;

 private:
  struct Block;

  MetaMemory() = default;

  static void free_block(void* block);

  int64_t current_ = 0;
  int64_t peak_ = 0;
};

}  // namespace shoal::dry_run

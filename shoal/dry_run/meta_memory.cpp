#include "shoal/dry_run/meta_memory.h"

#include <memory>
#include <utility>

namespace shoal::dry_run {

struct MetaMemory::Block {
  MetaMemory* owner;
  int64_t bytes;
};

MetaMemory& MetaMemory::installed() {
  // Never destroyed: tensors of static objects are freed after everything else.
  static MetaMemory* const one = [] {
    auto* const memory = new MetaMemory;
    c10::SetAllocator(c10::kMeta, memory, /*priority=*/255);
    return memory;
  }();
  return *one;
}

int64_t MetaMemory::take_peak() { return std::exchange(peak_, current_); }

// There is no data, so that the context of the pointer stands for the block.
c10::DataPtr MetaMemory::allocate(size_t bytes) {
  auto block = std::make_unique<Block>(Block{this, static_cast<int64_t>(bytes)});
  current_ += block->bytes;
  peak_ = std::max(peak_, current_);
  return {nullptr, block.release(), &MetaMemory::free_block, c10::Device(c10::kMeta)};
}

void MetaMemory::free_block(void* block) {
  const std::unique_ptr<Block> freed(static_cast<Block*>(block));
  freed->owner->current_ -= freed->bytes;
}

c10::DeleterFnPtr MetaMemory::raw_deleter() const { return &MetaMemory::free_block; }

void MetaMemory::copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const {}

}  // namespace shoal::dry_run

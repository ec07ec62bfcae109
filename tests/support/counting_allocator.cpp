#include "tests/support/counting_allocator.h"

#include <cstdlib>
#include <new>

#include <c10/core/CPUAllocator.h>

namespace shoal::tests {
namespace {

// The header of every block, as large as the alignment of the block.
struct alignas(64) Header {
  CountingAllocator* owner;
  size_t bytes;
};

}  // namespace

CountingAllocator& CountingAllocator::installed() {
  // Never destroyed: tensors of static objects are freed after everything else.
  static CountingAllocator* const one = [] {
    auto* const allocator = new CountingAllocator;
    c10::SetCPUAllocator(allocator, /*priority=*/255);
    return allocator;
  }();
  return *one;
}

int64_t CountingAllocator::peak_of(const std::function<void()>& body) {
  const int64_t before = current_;
  peak_ = before;
  body();
  return peak_ - before;
}

c10::DataPtr CountingAllocator::allocate(size_t bytes) {
  const c10::Device device(c10::kCPU);
  if (bytes == 0) return {nullptr, device};
  if (budget_ > 0 && current_ + static_cast<int64_t>(bytes) > budget_) throw std::bad_alloc();
  const size_t whole =
      sizeof(Header) + (bytes + alignof(Header) - 1) / alignof(Header) * alignof(Header);
  void* const block = std::aligned_alloc(alignof(Header), whole);
  if (block == nullptr) throw std::bad_alloc();
  auto* const header = new (block) Header{this, bytes};
  add(static_cast<int64_t>(bytes));
  void* const data = header + 1;
  return {data, data, &CountingAllocator::free_block, device};
}

void CountingAllocator::free_block(void* data) {
  if (data == nullptr) return;
  Header* const header = static_cast<Header*>(data) - 1;
  header->owner->add(-static_cast<int64_t>(header->bytes));
  std::free(header);
}

c10::DeleterFnPtr CountingAllocator::raw_deleter() const { return &CountingAllocator::free_block; }

void CountingAllocator::copy_data(void* to, const void* from, std::size_t bytes) const {
  default_copy_data(to, from, bytes);
}

void CountingAllocator::add(int64_t bytes) {
  const int64_t now = current_ += bytes;
  int64_t most = peak_;
  while (now > most && !peak_.compare_exchange_weak(most, now)) {
  }
}

}  // namespace shoal::tests

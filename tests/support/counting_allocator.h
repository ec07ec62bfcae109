// counting_allocator.h -- counts the bytes of tensors, and their peak.
//
//   CountingAllocator& memory = CountingAllocator::installed();
//   const int64_t peak = memory.peak_of([&] { step(); });      // beyond what there was before
//
// Counts the bytes that tensors on the CPU requested, on all threads together, the same every time:
// not pages, and not what libraries underneath allocate for themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include <c10/core/Allocator.h>

namespace shoal::tests {

class CountingAllocator final : public c10::Allocator {
 public:
  // Returns the allocator of this process, which is used for all tensors made after the first call.
  static CountingAllocator& installed();

  [[nodiscard]] int64_t current() const { return current_; }

  // Limits the bytes from here on: allocations beyond throw std::bad_alloc. 0 means no limit.
  void limit(int64_t bytes) { budget_ = bytes; }

  // Returns the peak while `body` ran, less the bytes when it began.
  int64_t peak_of(const std::function<void()>& body);

  c10::DataPtr allocate(size_t bytes) override;
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override;

 private:
  CountingAllocator() = default;

  static void free_block(void* data);
  void add(int64_t bytes);

  std::atomic<int64_t> current_ = 0;
  std::atomic<int64_t> peak_ = 0;
  std::atomic<int64_t> budget_ = 0;
};

}  // namespace shoal::tests

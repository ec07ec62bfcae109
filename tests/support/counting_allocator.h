// counting_allocator.h -- how many bytes tensors take, and how many they took at most.
//
//   CountingAllocator& memory = CountingAllocator::installed();
//   const int64_t peak = memory.peak_of([&] { step(); });      // beyond what there was before
//
// Counts what tensors on the CPU asked for, to the byte and the same every time: not pages, and not what
// libraries underneath take for themselves. Of all threads together.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include <c10/core/Allocator.h>

namespace shoal::tests {

class CountingAllocator final : public c10::Allocator {
 public:
  // The one of this process: for all tensors that are made after the first call.
  static CountingAllocator& installed();

  [[nodiscard]] int64_t current() const { return current_; }

  // No more than so much from here on: std::bad_alloc beyond it. 0: as much as there is.
  void limit(int64_t bytes) { budget_ = bytes; }

  // The most there was while `body` ran, less what there was when it began.
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

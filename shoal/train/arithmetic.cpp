#include "shoal/train/arithmetic.h"

#include <algorithm>
#include <chrono>

#include <sys/resource.h>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "shoal/core/quantities.h"

namespace shoal::train {

double measured_peak(at::ScalarType dtype) {
  constexpr int64_t kSize = 1024;
  constexpr auto kWhile = std::chrono::milliseconds(150);
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions().dtype(dtype);
  const at::Tensor a = at::ones({kSize, kSize}, options);
  const at::Tensor b = at::ones({kSize, kSize}, options);
  at::Tensor c = at::empty({kSize, kSize}, options);
  double best = 0;
  for (const auto began = Clock::now(); Clock::now() - began < kWhile || best == 0;) {
    const auto start = Clock::now();
    at::mm_out(c, a, b);
    const double seconds = seconds_since(start);
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

int64_t peak_memory(c10::Device device) {
  if (!device.is_cpu()) {
    const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return stats.reserved_bytes[kAll].peak;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace shoal::train

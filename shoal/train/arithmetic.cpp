#include "shoal/train/arithmetic.h"

#include <algorithm>
#include <cmath>

#include <sys/resource.h>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "shoal/config/value.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/train/device_peaks.h"

namespace shoal::train {
namespace {

// Returns the FLOP/s of the fastest of several square products. Sizes grow while the next one still fits
// into the time, because a type without instructions of its own is hundreds of times slower.
double measured_peak(at::ScalarType dtype) {
  constexpr int64_t kLargest = 256;  // the weights and the result stay in the cache
  constexpr double kSeconds = 0.02;
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions().dtype(dtype);
  double best = 0;
  const auto began = Clock::now();
  for (int64_t size = 32; size <= kLargest; size *= 2) {
    const at::Tensor a = at::ones({size, size}, options);
    at::Tensor c = at::empty({size, size}, options);
    at::mm_out(c, a, a);  // starts threads and fills caches
    const double operations = 2.0 * std::pow(size, 3);
    double seconds = 0;
    do {
      const auto start = Clock::now();
      at::mm_out(c, a, a);
      seconds = seconds_since(start);
      best = std::max(best, operations / seconds);
    } while (size == kLargest && seconds_since(began) + seconds < kSeconds);
    if (seconds_since(began) + 2 * 8 * seconds > kSeconds) break;
  }
  return best;
}

}  // namespace

double peak_of_device(comm::World& world, config::Precision precision, at::ScalarType dtype) {
  double peak = 0;
  if (!world.device().is_cpu()) {
    peak = dense_peak(world.device_name(), precision).value_or(0);
    if (peak == 0 && world.rank() == 0)
      log::info("the peak FLOP/s of {} in {} are not known: no MFU", world.device_name(),
                config::write_value(precision));
    return peak;
  }
  if (world.rank() == 0) peak = measured_peak(dtype);
  const at::Tensor shared = at::full({1}, peak, at::kDouble);
  world.control().broadcast(shared, /*root=*/0, "the peak FLOP/s of the host");
  return shared.item<double>();
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

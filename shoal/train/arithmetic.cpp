#include "shoal/train/arithmetic.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <sys/resource.h>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "shoal/config/value.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/train/device_peaks.h"

namespace shoal::train {
namespace {

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

}  // namespace

std::function<double()> peak_of_device(const comm::World& world,
                                       config::Precision precision,
                                       at::ScalarType dtype) {
  if (world.device().is_cpu()) return [dtype] { return measured_peak(dtype); };
  const std::optional<double> peak = dense_peak(world.device_name(), precision);
  if (!peak && world.rank() == 0)
    log::info("the peak FLOP/s of {} in {} are not known: no MFU", world.device_name(),
              config::write_value(precision));
  return [peak] { return peak.value_or(0); };
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

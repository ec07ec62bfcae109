#include "shoal/train/arithmetic.h"

#include <algorithm>
#include <chrono>

#include <sys/resource.h>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "shoal/blueprint/decoder.h"
#include "shoal/core/quantities.h"

namespace shoal::train {

double operations_per_token(const config::ModelConfig& config, int64_t sequence_length) {
  double in_products = 0;
  for (const blueprint::UnitBlueprint& unit :
       blueprint::units_of(config, blueprint::UnitRange::all(config))) {
    for (const blueprint::WeightSpec& weight : unit.weights) {
      // An embedding is no matrix product; a tied one is also the head's matrix.
      const bool looked_up = unit.kind == config::UnitKind::kEmbedding;
      const bool is_head = looked_up && config.tied && weight.name == blueprint::kTiedMatrix;
      if (weight.is_matrix() && (!looked_up || is_head))
        in_products += static_cast<double>(weight.local_elements());
    }
  }
  const double attention = 12.0 * config.layers * config.heads *
                           static_cast<double>(config.features_per_head() * sequence_length);
  return 6 * in_products + attention;
}

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

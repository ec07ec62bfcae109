#include "shoal/model/functions/dropout.h"

#include <array>
#include <cmath>

#include <ATen/ATen.h>

#include "shoal/model/functions/device_random.h"
#include "shoal/model/functions/parallel_loop.h"
#include "shoal/model/functions/recording.h"

namespace shoal::model {
namespace {

at::Tensor kept_by_threads(
    at::IntArrayRef shape, double rate, const Random& random, uint64_t first, c10::Device device) {
  at::Tensor kept = at::empty(shape, at::TensorOptions().dtype(at::kBool).device(device));
  if (kept.is_meta()) return kept;  // has no values
  bool* const out = kept.data_ptr<bool>();
  const auto threshold = static_cast<float>(rate);
  constexpr int64_t kAtOnce = 4096;
  parallel_loop(kept.numel(), kAtOnce, [&](int64_t begin, int64_t end) {
    std::array<float, 256> numbers;
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(numbers.size())) {
      const auto count =
          static_cast<size_t>(std::min<int64_t>(end - at, static_cast<int64_t>(numbers.size())));
      random.fill_uniform({numbers.data(), count}, first + static_cast<uint64_t>(at));
      for (size_t i = 0; i < count; ++i)
        out[at + static_cast<int64_t>(i)] = numbers[i] >= threshold;
    }
  });
  return kept;
}

}  // namespace

at::Tensor kept_elements(
    at::IntArrayRef shape, double rate, const Random& random, uint64_t first, c10::Device device) {
  return device.is_cuda() ? kept_on_device(shape, rate, random, first, device)
                          : kept_by_threads(shape, rate, random, first, device);
}

// A uniform number is the upper 24 bits of 32: it reaches the rate when all 32 reach this bound.
at::Tensor kept_on_device(
    at::IntArrayRef shape, double rate, const Random& random, uint64_t first, c10::Device device) {
  const auto bound = static_cast<int64_t>(std::ceil(static_cast<float>(rate) * 0x1p24F)) << 8;
  return device_bits(random, first, c10::multiply_integers(shape), device).ge(bound).view(shape);
}

at::Tensor keep(const at::Tensor& x, const at::Tensor& kept, double scale) {
  const Recording recording({x});
  return recording.finish((x * kept).mul_(scale), [kept, scale](const at::Tensor& gradient) {
    return Gradients{(gradient * kept).mul_(scale)};
  });
}

at::Tensor dropout(const at::Tensor& x, double rate, const Random& random, uint64_t first) {
  if (rate == 0) return x;
  return keep(x, kept_elements(x.sizes(), rate, random, first, x.device()), 1 / (1 - rate));
}

}  // namespace shoal::model

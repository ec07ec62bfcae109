#include "shoal/train/precision.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include "shoal/core/error.h"

namespace shoal::train {

model::Materials materials_of(config::Precision precision, c10::Device device, uint64_t seed) {
  at::globalContext().setAllowTF32CuBLAS(precision == config::Precision::kTf32);
  model::Materials materials{.device = device, .seed = seed};
  switch (precision) {
    case config::Precision::kFp32:
    case config::Precision::kTf32:
      break;
    case config::Precision::kBf16:
      materials.dtype = at::kBFloat16;
      break;
    case config::Precision::kFp16:
      materials.dtype = at::kHalf;
      break;
    case config::Precision::kFp64:
      materials.dtype = at::kDouble;
      materials.gradient_dtype = at::kDouble;
      break;
  }
  return materials;
}

c10::Device device_of(config::DeviceKind kind) {
  const bool there = at::hasCUDA();
  if (kind == config::DeviceKind::kCuda && !there)
    throw UsageError("train.device is cuda, but this build or host has none; write `device: auto`");
  const bool use =
      kind == config::DeviceKind::kCuda || (kind == config::DeviceKind::kAuto && there);
  return use ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
}

}  // namespace shoal::train

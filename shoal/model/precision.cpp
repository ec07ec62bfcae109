#include "shoal/model/precision.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

namespace shoal::model {

Materials materials_of(config::Precision precision, c10::Device device, uint64_t seed) {
  at::globalContext().setAllowTF32CuBLAS(precision == config::Precision::kTf32);
  Materials materials{.device = device, .seed = seed};
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

}  // namespace shoal::model

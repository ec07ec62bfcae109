// precision.h -- the tensor types of a configured precision.
#pragma once

#include <cstdint>

#include "shoal/config/train_config.h"
#include "shoal/model/weights.h"

namespace shoal::model {

// Returns the types, device and seed of a model. Also sets whether fp32 matrix products may use
// TF32, for the whole process.
Materials materials_of(config::Precision precision, c10::Device device, uint64_t seed);

}  // namespace shoal::model

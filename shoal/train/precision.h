// precision.h -- what a precision of the config means for tensors.
#pragma once

#include <cstdint>

#include "shoal/config/train_config.h"
#include "shoal/model/weights.h"

namespace shoal::train {

// Also lets products of fp32 matrices use TF32, or forbids it: a switch of the whole process.
model::Materials materials_of(config::Precision precision, c10::Device device, uint64_t seed);

}  // namespace shoal::train

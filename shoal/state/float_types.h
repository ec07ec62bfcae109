// float_types.h -- converts floating-point numbers of other widths to fp32 and back, without torch.
//
//   to_fp32(DType::kBf16, bytes, numbers);
//   from_fp32(numbers, DType::kF16, bytes);
//
// core/narrow_floats.h tells the rounding. Bytes need not be aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/core/narrow_floats.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {

// Returns whether the functions below take the type: F64, F32, BF16 or F16.
bool is_float(DType type);

void to_fp32(DType from, std::span<const std::byte> bytes, std::span<float> out);
void from_fp32(std::span<const float> numbers, DType to, std::span<std::byte> out);

}  // namespace shoal::state

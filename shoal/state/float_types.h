// float_types.h -- floating-point numbers of other widths to fp32 and back, without torch.
//
//   to_fp32(DType::kBf16, bytes, numbers);
//   from_fp32(numbers, DType::kF16, bytes);
//
// What does not fit becomes the nearest number, of two that are as near the one whose last bit is 0, and
// infinity beyond the largest. NaN stays one, with its sign and the payload that there is room for. Bytes
// need not be aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/state/tensor_spec.h"

namespace shoal::state {

uint16_t fp32_to_bf16(float number);
uint16_t fp32_to_fp16(float number);
float bf16_to_fp32(uint16_t bits);
float fp16_to_fp32(uint16_t bits);

// F64, F32, BF16 or F16: what the functions below take.
bool is_float(DType type);

void to_fp32(DType from, std::span<const std::byte> bytes, std::span<float> out);
void from_fp32(std::span<const float> numbers, DType to, std::span<std::byte> out);

}  // namespace shoal::state

// accumulate.h -- adds up what arrives from peers. Plain loops that the compiler vectorises; no
// torch.
#pragma once

#include <cstdint>

#include "shoal/comm/call.h"

namespace shoal::comm {

enum class Element { kDouble, kFloat, kBFloat16, kInt64 };

// into[i] = into[i] (op) from[i]. kAvg adds up; divide afterwards.
void accumulate(Element type, Reduce op, void* into, const void* from, int64_t count);

// bfloat16 is added up in float, so that a sum over many ranks loses its precision once and not at
// every step.
void widen_bf16(float* into, const uint16_t* from, int64_t count);
void accumulate_bf16(Reduce op, float* into, const uint16_t* from, int64_t count);
// To nearest, ties to even; NaN stays NaN.
void narrow_bf16(uint16_t* into, const float* from, int64_t count);

void divide(Element type, void* inout, int64_t divisor, int64_t count);

}  // namespace shoal::comm

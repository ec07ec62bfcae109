// accumulate.h -- adds up what arrives from peers. Plain loops that the compiler vectorises; no
// torch.
#pragma once

#include <cstdint>

#include "shoal/comm/call.h"

namespace shoal::comm {

enum class Element { kDouble, kFloat, kBFloat16, kHalf, kInt64 };

// Those of 16 bits: they are added up in float, so that a sum over many ranks loses its precision once and not at
// every step.
constexpr bool is_narrow(Element type) {
  return type == Element::kBFloat16 || type == Element::kHalf;
}

// into[i] = into[i] (op) from[i]. kAvg adds up; divide afterwards.
void accumulate(Element type, Reduce op, void* into, const void* from, int64_t count);

// Of narrow types.
void widen(Element type, float* into, const uint16_t* from, int64_t count);
void accumulate_wide(Element type, Reduce op, float* into, const uint16_t* from, int64_t count);
// To nearest, ties to even; NaN stays NaN.
void narrow(Element type, uint16_t* into, const float* from, int64_t count);

void divide(Element type, void* inout, int64_t divisor, int64_t count);

}  // namespace shoal::comm

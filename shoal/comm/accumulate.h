// accumulate.h -- sums what arrives from peers. Plain loops that the compiler vectorises; no torch.
#pragma once

#include <cstdint>

#include "shoal/comm/call.h"

namespace shoal::comm {

enum class Element { kDouble, kFloat, kBFloat16, kHalf, kInt64 };

// Returns whether a type has 16 bits. Such elements are summed in float, so that a sum over many
// ranks is rounded once and not at every step.
constexpr bool is_narrow(Element type) {
  return type == Element::kBFloat16 || type == Element::kHalf;
}

// Computes into[i] = into[i] (op) from[i]. kAvg sums; the caller divides afterwards.
void accumulate(Element type, Reduce op, void* into, const void* from, int64_t count);

// The following take narrow types only.
void widen(Element type, float* into, const uint16_t* from, int64_t count);
void accumulate_wide(Element type, Reduce op, float* into, const uint16_t* from, int64_t count);
// Rounds to nearest, ties to even; NaN stays NaN.
void narrow(Element type, uint16_t* into, const float* from, int64_t count);

void divide(Element type, void* inout, int64_t divisor, int64_t count);

}  // namespace shoal::comm

// gelu_loop.h -- GELU's tanh form and its derivative over plain arrays, vectorized.
//
//   gelu_tanh(x.data(), y.data(), n);                        // y = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
//   gelu_tanh_backward(x.data(), dy.data(), dx.data(), n);   // dx = dy * dGELU/dx
//
// The quotient is 0.5 x (1 + tanh u) without the cancellation where tanh is near -1. The result of
// an element does not depend on its place or on n. Below -10, where |GELU| is smaller than 1e-36,
// the result is that of -10, also for -inf; NaN stays NaN. Output and input may be the same array.
#pragma once

#include <cstddef>

#include "shoal/model/functions/vector_math.h"

namespace shoal::model {

// The bf16 versions compute in fp32 and round once.
void gelu_tanh(const float* x, float* y, size_t n);
void gelu_tanh(const Bf16* x, Bf16* y, size_t n);
void gelu_tanh_backward(const float* x, const float* dy, float* dx, size_t n);
void gelu_tanh_backward(const Bf16* x, const Bf16* dy, Bf16* dx, size_t n);

}  // namespace shoal::model

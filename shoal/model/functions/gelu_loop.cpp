#include "shoal/model/functions/gelu_loop.h"

#include <algorithm>

#include "shoal/model/functions/vector_math.h"

namespace shoal::model {
namespace {

// All loops are over whole blocks, the rest of an array being copied to one: a loop of any length ends in
// scalar steps, whose last bits may differ.
constexpr size_t kBlock = 64;

// Between these e^-2u is a normal number, and at the upper one the function is x.
constexpr float kLeast = -10.0F;
constexpr float kMost = 10.0F;
constexpr float kTwiceRoot = 1.5957691216F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

struct Forward {
  [[gnu::always_inline]] float operator()(float x) const {
    const float above = at_least(x, kLeast);
    const float c = at_most(above, kMost);
    const float e = exponential(-kTwiceRoot * c * (1 + kCubic * c * c));
    return above / (1 + e);
  }
};

// With s = 1 / (1 + e^-2u) the derivative is s + x s (1 - s) 2 du/dx, and 1 - s = s e^-2u.
struct Backward {
  [[gnu::always_inline]] float operator()(float x, float dy) const {
    const float c = at_most(at_least(x, kLeast), kMost);
    const float square = kCubic * c * c;
    const float e = exponential(-kTwiceRoot * c * (1 + square));
    const float s = 1 / (1 + e);
    return dy * (s + s * (s * e) * (kTwiceRoot * c * (1 + 3 * square)));
  }
};

template <class Function, class Number, class... Numbers>
[[gnu::always_inline]] inline void block(Function function, Number* out, const Numbers*... in) {
  for (size_t i = 0; i < kBlock; ++i) narrow(function(widened(in[i])...), out[i]);
}

template <class Number>
struct Padded {
  Number numbers[kBlock] = {};

  [[gnu::always_inline]] static Padded of(const Number* from, size_t count) {
    Padded block;
    std::copy_n(from, count, block.numbers);
    return block;
  }
};

template <class Function, class Number, class... Numbers>
[[gnu::always_inline]] inline void loop(size_t n, Number* out, const Numbers*... in) {
  size_t at = 0;
  for (; n - at >= kBlock; at += kBlock) block(Function(), out + at, in + at...);
  if (at == n) return;
  Padded<Number> last;
  block(Function(), last.numbers, Padded<Numbers>::of(in + at, n - at).numbers...);
  std::copy_n(last.numbers, n - at, out + at);
}

#if defined(__x86_64__)
template <class Function, class Number, class... Numbers>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")]] void
loop_by_avx512(size_t n, Number* out, const Numbers*... in) {
  loop<Function>(n, out, in...);
}

template <class Function, class Number, class... Numbers>
[[gnu::target("avx2,fma")]] void loop_by_avx2(size_t n, Number* out, const Numbers*... in) {
  loop<Function>(n, out, in...);
}
#endif

template <class Function, class Number, class... Numbers>
void widest_loop(size_t n, Number* out, const Numbers*... in) {
#if defined(__x86_64__)
  if (has_avx512()) return loop_by_avx512<Function>(n, out, in...);
  if (has_avx2()) return loop_by_avx2<Function>(n, out, in...);
#endif
  loop<Function>(n, out, in...);
}

}  // namespace

void gelu_tanh(const float* x, float* y, size_t n) { widest_loop<Forward>(n, y, x); }

void gelu_tanh(const Bf16* x, Bf16* y, size_t n) { widest_loop<Forward>(n, y, x); }

void gelu_tanh_backward(const float* x, const float* dy, float* dx, size_t n) {
  widest_loop<Backward>(n, dx, x, dy);
}

void gelu_tanh_backward(const Bf16* x, const Bf16* dy, Bf16* dx, size_t n) {
  widest_loop<Backward>(n, dx, x, dy);
}

}  // namespace shoal::model

#include "shoal/comm/accumulate.h"

#include <bit>

#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

float widen(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t to_nearest_even = 0x7FFFU + ((bits >> 16) & 1U);
  const auto rounded = static_cast<uint16_t>((bits + to_nearest_even) >> 16);
  // Rounding must not carry a NaN to infinity.
  return value != value ? static_cast<uint16_t>(0x7FC0U) : rounded;
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T, class Combine>
void combine(T* __restrict into, const T* __restrict from, int64_t count, Combine op) {
  for (int64_t i = 0; i < count; ++i) into[i] = op(into[i], from[i]);
}

template <class Combine>
void combine_narrow(uint16_t* __restrict into,
                    const uint16_t* __restrict from,
                    int64_t count,
                    Combine op) {
  for (int64_t i = 0; i < count; ++i) into[i] = narrow(op(widen(into[i]), widen(from[i])));
}

template <class Combine>
void combine_wide(float* __restrict into,
                  const uint16_t* __restrict from,
                  int64_t count,
                  Combine op) {
  for (int64_t i = 0; i < count; ++i) into[i] = op(into[i], widen(from[i]));
}

// Calls `body` with the function object of the reduction, so that each loop is compiled for its
// own.
template <class Body>
void with_combine(Reduce op, Body body) {
  switch (op) {
    case Reduce::kSum:
    case Reduce::kAvg:
      body(Add{});
      return;
    case Reduce::kMin:
      body(Min{});
      return;
    case Reduce::kMax:
      body(Max{});
      return;
  }
}

template <class T>
void divide_all(T* inout, T divisor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) inout[i] /= divisor;
}

}  // namespace

void accumulate(Element type, Reduce op, void* into, const void* from, int64_t count) {
  with_combine(op, [&](auto combiner) {
    switch (type) {
      case Element::kDouble:
        combine(static_cast<double*>(into), static_cast<const double*>(from), count, combiner);
        break;
      case Element::kFloat:
        combine(static_cast<float*>(into), static_cast<const float*>(from), count, combiner);
        break;
      case Element::kInt64:
        combine(static_cast<int64_t*>(into), static_cast<const int64_t*>(from), count, combiner);
        break;
      case Element::kBFloat16:
        combine_narrow(static_cast<uint16_t*>(into), static_cast<const uint16_t*>(from), count,
                       combiner);
        break;
    }
  });
}

void widen_bf16(float* __restrict into, const uint16_t* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) into[i] = widen(from[i]);
}

void accumulate_bf16(Reduce op, float* into, const uint16_t* from, int64_t count) {
  with_combine(op, [&](auto combiner) { combine_wide(into, from, count, combiner); });
}

void narrow_bf16(uint16_t* __restrict into, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) into[i] = narrow(from[i]);
}

void divide(Element type, void* inout, int64_t divisor, int64_t count) {
  switch (type) {
    case Element::kDouble:
      divide_all(static_cast<double*>(inout), static_cast<double>(divisor), count);
      return;
    case Element::kFloat:
      divide_all(static_cast<float*>(inout), static_cast<float>(divisor), count);
      return;
    case Element::kBFloat16: {
      auto* bits = static_cast<uint16_t*>(inout);
      for (int64_t i = 0; i < count; ++i)
        bits[i] = narrow(widen(bits[i]) / static_cast<float>(divisor));
      return;
    }
    case Element::kInt64:
      throw BugError("an average of integers has no fractions");
  }
}

}  // namespace shoal::comm

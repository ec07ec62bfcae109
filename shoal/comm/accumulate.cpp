#include "shoal/comm/accumulate.h"

#include "shoal/core/error.h"
#include "shoal/core/narrow_floats.h"

namespace shoal::comm {
namespace {

// Numbers of 16 bits that are added up in float.
struct Bf16 {
  static float widen(uint16_t bits) { return bf16_to_fp32(bits); }
  static uint16_t narrow(float number) { return fp32_to_bf16(number); }
};

struct Fp16 {
  static float widen(uint16_t bits) { return fp16_to_fp32(bits); }
  static uint16_t narrow(float number) { return fp32_to_fp16(number); }
};

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

template <class Type, class Combine>
void combine_narrow(uint16_t* __restrict into,
                    const uint16_t* __restrict from,
                    int64_t count,
                    Combine op) {
  for (int64_t i = 0; i < count; ++i)
    into[i] = Type::narrow(op(Type::widen(into[i]), Type::widen(from[i])));
}

template <class Type, class Combine>
void combine_wide(float* __restrict into,
                  const uint16_t* __restrict from,
                  int64_t count,
                  Combine op) {
  for (int64_t i = 0; i < count; ++i) into[i] = op(into[i], Type::widen(from[i]));
}

// Calls `body` with Bf16 or Fp16.
template <class Body>
void with_narrow(Element type, Body body) {
  SHOAL_CHECK(is_narrow(type), "a type that is not added up in another");
  type == Element::kBFloat16 ? body(Bf16{}) : body(Fp16{});
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
      case Element::kHalf:
        with_narrow(type, [&](auto narrow) {
          combine_narrow<decltype(narrow)>(static_cast<uint16_t*>(into),
                                           static_cast<const uint16_t*>(from), count, combiner);
        });
        break;
    }
  });
}

void widen(Element type, float* __restrict into, const uint16_t* __restrict from, int64_t count) {
  with_narrow(type, [&](auto narrow) {
    for (int64_t i = 0; i < count; ++i) into[i] = decltype(narrow)::widen(from[i]);
  });
}

void accumulate_wide(Element type, Reduce op, float* into, const uint16_t* from, int64_t count) {
  with_combine(op, [&](auto combiner) {
    with_narrow(type,
                [&](auto narrow) { combine_wide<decltype(narrow)>(into, from, count, combiner); });
  });
}

void narrow(Element type, uint16_t* __restrict into, const float* __restrict from, int64_t count) {
  with_narrow(type, [&](auto narrow) {
    for (int64_t i = 0; i < count; ++i) into[i] = decltype(narrow)::narrow(from[i]);
  });
}

void divide(Element type, void* inout, int64_t divisor, int64_t count) {
  switch (type) {
    case Element::kDouble:
      divide_all(static_cast<double*>(inout), static_cast<double>(divisor), count);
      return;
    case Element::kFloat:
      divide_all(static_cast<float*>(inout), static_cast<float>(divisor), count);
      return;
    case Element::kBFloat16:
    case Element::kHalf:
      with_narrow(type, [&](auto narrow) {
        auto* const bits = static_cast<uint16_t*>(inout);
        for (int64_t i = 0; i < count; ++i)
          bits[i] = narrow.narrow(narrow.widen(bits[i]) / static_cast<float>(divisor));
      });
      return;
    case Element::kInt64:
      throw BugError("an average of integers has no fractions");
  }
}

}  // namespace shoal::comm

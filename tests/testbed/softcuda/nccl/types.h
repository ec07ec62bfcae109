// NCCL's types of elements: how wide, and how reports call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softcuda {

size_t width_of(int type);
const char* name_of(int type);

// bfloat16: the upper half of a float, rounded to the nearest, ties to even.
class Bfloat16 {
 public:
  explicit Bfloat16(float value);
  explicit operator float() const;

 private:
  uint16_t bits_;
};
using Float16 = _Float16;

}  // namespace softcuda

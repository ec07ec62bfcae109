// flip_bit.h -- damage to a tensor in memory.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace shoal::tests {

// Flips a bit of a contiguous CPU tensor, counted from its first byte.
inline void flip_bit(const at::Tensor& tensor, uint64_t bit) {
  static_cast<unsigned char*>(tensor.data_ptr())[bit / 8] ^=
      static_cast<unsigned char>(1U << (bit % 8));
}

}  // namespace shoal::tests

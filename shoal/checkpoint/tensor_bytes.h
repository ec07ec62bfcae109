// tensor_bytes.h -- tensors as bytes on disk, and back.
#pragma once

#include <cstddef>
#include <span>

#include <ATen/core/Tensor.h>

#include "shoal/state/tensor_spec.h"

namespace shoal::checkpoint {

// Throws DataError for a type that torch does not compute with.
at::ScalarType torch_type(state::DType type);
state::DType disk_type(at::ScalarType type);

// Returns a tensor on the CPU with a copy of `bytes`, which need not be aligned.
at::Tensor tensor_of(state::DType type, const Shape& shape, std::span<const std::byte> bytes);

// These return the bytes of a contiguous tensor on the CPU, valid as long as it lives.
std::span<const std::byte> bytes_of(const at::Tensor& tensor);
std::span<std::byte> writable_bytes_of(const at::Tensor& tensor);

}  // namespace shoal::checkpoint

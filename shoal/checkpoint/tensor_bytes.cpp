#include "shoal/checkpoint/tensor_bytes.h"

#include <array>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::checkpoint {
namespace {

using state::DType;

constexpr std::array<std::pair<DType, at::ScalarType>, 10> kTypes = {{
    {DType::kF32, at::kFloat},
    {DType::kBf16, at::kBFloat16},
    {DType::kF16, at::kHalf},
    {DType::kF64, at::kDouble},
    {DType::kI64, at::kLong},
    {DType::kI32, at::kInt},
    {DType::kI16, at::kShort},
    {DType::kI8, at::kChar},
    {DType::kU8, at::kByte},
    {DType::kBool, at::kBool},
}};

}  // namespace

at::ScalarType torch_type(DType type) {
  for (const auto& [disk, torch] : kTypes) {
    if (disk == type) return torch;
  }
  throw DataError(format("tensors of type {} are not supported", state::dtype_name(type)));
}

DType disk_type(at::ScalarType type) {
  for (const auto& [disk, torch] : kTypes) {
    if (torch == type) return disk;
  }
  throw BugError(format("a tensor of type {}", c10::toString(type)));
}

at::Tensor tensor_of(DType type, const Shape& shape, std::span<const std::byte> bytes) {
  at::Tensor tensor = at::empty(shape, torch_type(type));
  SHOAL_CHECK(tensor.nbytes() == bytes.size(), "{} bytes for a tensor of {}", bytes.size(),
              tensor.nbytes());
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) { return writable_bytes_of(tensor); }

std::span<std::byte> writable_bytes_of(const at::Tensor& tensor) {
  SHOAL_CHECK(tensor.is_contiguous() && tensor.is_cpu(), "a tensor that is not in one piece");
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

}  // namespace shoal::checkpoint

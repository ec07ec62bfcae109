// tensor_spec.h -- the description of a tensor on disk: a name, an element type and a shape.
//
//   const TensorSpec spec{"model.norm.weight", DType::kBf16, {4096}};
//   tensor_bytes(spec.dtype, spec.shape)    // 8192
//
// Elements are in C order and little endian. A shape {} is one element; a 0 in it makes none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/core/box.h"

namespace shoal::state {

// The element types, in the order of the safetensors library: its writer sorts by it, from the last
// to the first, so that larger elements come first and all are aligned. Types that shoal does not
// compute with (f8, complex, unsigned beyond 8 bits) can be stored all the same.
enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

constexpr size_t kDTypes = 19;

uint64_t element_bytes(DType dtype);
std::string_view dtype_name(DType dtype);  // as safetensors says it: "BF16"
std::optional<DType> dtype_named(std::string_view name);

// Bounds on what is read and written. The size of a tensor stays far below where sums overflow.
constexpr size_t kMaxDims = 16;
constexpr size_t kMaxTensorName = 1024;
constexpr uint64_t kMaxBytes = (uint64_t{1} << 48) - 1;

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;

  bool operator==(const TensorSpec&) const = default;
};

// Returns the bytes of a tensor; nothing when a dimension is negative, there are too many, or the
// bytes exceed kMaxBytes.
std::optional<uint64_t> checked_bytes(DType dtype, const Shape& shape);

// Returns the bytes of a tensor whose shape is known to be valid.
uint64_t tensor_bytes(DType dtype, const Shape& shape);

// Returns whether a name is 1 to kMaxTensorName bytes of UTF-8 without NUL.
bool is_tensor_name(std::string_view name);

std::string describe(const Shape& shape);  // "[2, 3]"

}  // namespace shoal::state

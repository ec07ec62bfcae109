#include "refusals.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>

namespace softcuda {
namespace {

using Arguments = std::vector<c10::IValue>;
using Check = std::function<void(const Arguments&)>;

std::optional<at::Tensor> optional_tensor(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() ? std::optional(value.toTensor())
                                                        : std::nullopt;
}

// Products whose result has another type than the factors (ATen/native/cuda/Blas.cpp).
Check product_with_type(size_t first, size_t type) {
  return [=](const Arguments& arguments) {
    const auto in = arguments[first].toTensor().scalar_type();
    const auto other = arguments[first + 1].toTensor().scalar_type();
    const auto out = arguments[type].toScalarType();
    TORCH_CHECK(in == other, "expected mat1 and mat2 to have the same dtype, but got: ", in,
                " != ", other);
    const bool widens = out == at::kFloat && (in == at::kHalf || in == at::kBFloat16);
    TORCH_CHECK(out == in || widens,
                "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
  };
}

// TMA wants rows of 16 bytes (ATen/native/GroupedMMUtils.h).
void check_rows(const at::Tensor& matrix) {
  const int64_t last = matrix.dim() - 1, alignment = 16 / matrix.element_size();
  const auto address = reinterpret_cast<uintptr_t>(matrix.const_data_ptr());
  TORCH_CHECK(address % 16 == 0, "expected data_ptr to be aligned to 16 bytes");
  const auto is_major = [&](int64_t fast, int64_t slow) {
    return matrix.stride(fast) == 1 &&
           matrix.stride(slow) >= std::max<int64_t>(1, matrix.size(fast));
  };
  for (const auto& [fast, slow] : {std::pair(last - 1, last), std::pair(last, last - 1)}) {
    if (!is_major(fast, slow)) continue;
    TORCH_CHECK(matrix.stride(slow) % alignment == 0, "strides should be multiple of 16 bytes");
    return;
  }
  TORCH_CHECK(false, "Invalid strides/sizes, got ", matrix.strides(), " for strides and ",
              matrix.sizes(), " for sizes");
}

void check_grouped(const Arguments& arguments) {
  const at::Tensor a = arguments[0].toTensor(), b = arguments[1].toTensor();
  for (const at::Tensor& matrix : {a, b}) {
    const auto type = matrix.scalar_type();
    TORCH_CHECK(type == at::kBFloat16 || type == at::kFloat || type == at::kHalf,
                "Expected mat_a to be Float32, BFloat16 or Float16 matrix, got ", type);
    TORCH_CHECK(matrix.dim() == 2 || matrix.dim() == 3, "mat_a has to be 2 or 3d");
  }
  const bool has_flat = a.dim() == 2 || b.dim() == 2;
  if (a.dim() != 2 || b.dim() != 2) {
    TORCH_CHECK(a.size(-1) == b.size(-2), "contraction dimension of mat_a and mat_b must match");
  }
  check_rows(a);
  check_rows(b);
  const auto offsets = optional_tensor(arguments[2]);
  TORCH_CHECK(
      offsets.has_value() == has_flat,
      "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
  if (offsets) {
    TORCH_CHECK(offsets->dim() == 1, "offs has to be 1D");
    TORCH_CHECK(offsets->scalar_type() == at::kInt, "Offsets have to be int32");
  }
  TORCH_CHECK(!optional_tensor(arguments[3]), "Bias not supported yet");
  TORCH_CHECK(arguments[4].isNone() || arguments[4].toScalarType() == a.scalar_type(),
              "Grouped gemm output dtype must match `mat_a` dtype");
}

// ATen/native/cuda/ScaledBlas.cpp, with one factor per matrix.
void check_scaled(const Arguments& arguments) {
  const at::Tensor a = arguments[0].toTensor(), b = arguments[1].toTensor();
  const auto* gpu = at::cuda::getDeviceProperties(a.device().index());
  TORCH_CHECK(
      gpu->major >= 9 || (gpu->major == 8 && gpu->minor == 9),
      "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or "
      "8.9, or ROCm MI300+");
  TORCH_CHECK(a.dim() == 2, "mat1 must be a matrix");
  TORCH_CHECK(b.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(a.size(1) % 16 == 0, "Expected trailing dimension of mat1 to be divisible by 16 ");
  TORCH_CHECK(b.size(0) % 16 == 0 && b.size(1) % 16 == 0, "mat2 shape (", b.size(0), "x", b.size(1),
              ") must be divisible by 16");
  TORCH_CHECK(at::isFloat8Type(a.scalar_type()),
              "Expected mat1 to be Float8 or Float4_x2 matrix got ", a.scalar_type());
  TORCH_CHECK(at::isFloat8Type(b.scalar_type()),
              "Expected mat2 to be Float8 or Float4_x2 matrix got ", b.scalar_type());
  TORCH_CHECK(a.scalar_type() != at::kFloat8_e5m2 || b.scalar_type() != at::kFloat8_e5m2,
              "Multiplication of two Float8_e5m2 matrices is not supported");
  TORCH_CHECK(
      gpu->major != 9 || (a.stride(1) == 1 && b.stride(0) == 1),
      "Only multiplication of row-major and column-major matrices is supported by cuBLASLt");
  const auto out = arguments[6].isNone() ? a.scalar_type() : arguments[6].toScalarType();
  TORCH_CHECK(!optional_tensor(arguments[4]) || out != at::kFloat,
              "Bias is not supported when out_dtype is set to Float32");
}

const std::map<std::string, Check>& table() {
  // mm(self, mat2, type), addmm(self, mat1, mat2, type): where the first factor and the type stand.
  static const auto& checks = *new std::map<std::string, Check>{
      {"aten::_grouped_mm", check_grouped},
      {"aten::_scaled_mm", check_scaled},
      {"aten::_scaled_mm.out", check_scaled},
      {"aten::addmm.dtype", product_with_type(1, 3)},
      {"aten::addmm.dtype_out", product_with_type(1, 3)},
      {"aten::baddbmm.dtype", product_with_type(1, 3)},
      {"aten::baddbmm.dtype_out", product_with_type(1, 3)},
      {"aten::bmm.dtype", product_with_type(0, 2)},
      {"aten::bmm.dtype_out", product_with_type(0, 2)},
      {"aten::mm.dtype", product_with_type(0, 2)},
      {"aten::mm.dtype_out", product_with_type(0, 2)},
  };
  return checks;
}

}  // namespace

void refuse_like_cuda(const std::string& operator_name, const Arguments& arguments) {
  const auto found = table().find(operator_name);
  if (found != table().end()) found->second(arguments);
}

}  // namespace softcuda

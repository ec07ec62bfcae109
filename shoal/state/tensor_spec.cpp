#include "shoal/state/tensor_spec.h"

#include <algorithm>
#include <array>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"

namespace shoal::state {
namespace {

struct DTypeRow {
  DType dtype;
  uint64_t bytes;
  std::string_view name;
};

constexpr std::array<DTypeRow, kDTypes> kRows = {{
    {DType::kBool, 1, "BOOL"},
    {DType::kU8, 1, "U8"},
    {DType::kI8, 1, "I8"},
    {DType::kF8E5M2, 1, "F8_E5M2"},
    {DType::kF8E4M3, 1, "F8_E4M3"},
    {DType::kF8E8M0, 1, "F8_E8M0"},
    {DType::kF8E4M3Fnuz, 1, "F8_E4M3FNUZ"},
    {DType::kF8E5M2Fnuz, 1, "F8_E5M2FNUZ"},
    {DType::kI16, 2, "I16"},
    {DType::kU16, 2, "U16"},
    {DType::kF16, 2, "F16"},
    {DType::kBf16, 2, "BF16"},
    {DType::kI32, 4, "I32"},
    {DType::kU32, 4, "U32"},
    {DType::kF32, 4, "F32"},
    {DType::kC64, 8, "C64"},
    {DType::kF64, 8, "F64"},
    {DType::kI64, 8, "I64"},
    {DType::kU64, 8, "U64"},
}};

constexpr bool rows_follow_the_enum() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

const DTypeRow& row_of(DType dtype) { return kRows.at(static_cast<size_t>(dtype)); }

}  // namespace

uint64_t element_bytes(DType dtype) { return row_of(dtype).bytes; }

std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  const auto* const found = std::find_if(kRows.begin(), kRows.end(),
                                         [&](const DTypeRow& row) { return row.name == name; });
  if (found == kRows.end()) return std::nullopt;
  return found->dtype;
}

std::optional<uint64_t> checked_bytes(DType dtype, const Shape& shape) {
  if (shape.size() > kMaxDims) return std::nullopt;
  uint64_t bytes = element_bytes(dtype);
  // Every product is checked, also where a 0 makes the last one nothing: others would overflow.
  uint64_t without_zeros = bytes;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    bytes *= static_cast<uint64_t>(size);
    if (size == 0) continue;
    if (static_cast<uint64_t>(size) > kMaxBytes / without_zeros) return std::nullopt;
    without_zeros *= static_cast<uint64_t>(size);
  }
  return bytes;
}

uint64_t tensor_bytes(DType dtype, const Shape& shape) {
  const std::optional<uint64_t> bytes = checked_bytes(dtype, shape);
  SHOAL_CHECK(bytes.has_value(), "{} of shape {} is no tensor", dtype_name(dtype), describe(shape));
  return *bytes;
}

bool is_tensor_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxTensorName && name.find('\0') == std::string::npos &&
         json::is_utf8(name);
}

std::string describe(const Shape& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + "]";
}

}  // namespace shoal::state

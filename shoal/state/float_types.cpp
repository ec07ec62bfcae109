#include "shoal/state/float_types.h"

#include <cstring>

#include "shoal/core/error.h"

namespace shoal::state {
namespace {

template <class Element, class Convert>
void widen(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Element element;
    std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
    out[i] = convert(element);
  }
}

template <class Element, class Convert>
void narrow(std::span<const float> numbers, std::span<std::byte> out, Convert convert) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Element element = convert(numbers[i]);
    std::memcpy(out.data() + i * sizeof element, &element, sizeof element);
  }
}

}  // namespace

bool is_float(DType type) {
  return type == DType::kF64 || type == DType::kF32 || type == DType::kBf16 || type == DType::kF16;
}

void to_fp32(DType from, std::span<const std::byte> bytes, std::span<float> out) {
  SHOAL_CHECK(bytes.size() == out.size() * element_bytes(from), "{} bytes for {} numbers of {}",
              bytes.size(), out.size(), dtype_name(from));
  switch (from) {
    case DType::kF64:
      return widen<double>(bytes, out, [](double number) { return static_cast<float>(number); });
    case DType::kF32:
      return widen<float>(bytes, out, [](float number) { return number; });
    case DType::kBf16:
      return widen<uint16_t>(bytes, out, bf16_to_fp32);
    case DType::kF16:
      return widen<uint16_t>(bytes, out, fp16_to_fp32);
    default:
      throw BugError(format("{} as fp32", dtype_name(from)));
  }
}

void from_fp32(std::span<const float> numbers, DType to, std::span<std::byte> out) {
  SHOAL_CHECK(out.size() == numbers.size() * element_bytes(to), "{} bytes for {} numbers of {}",
              out.size(), numbers.size(), dtype_name(to));
  switch (to) {
    case DType::kF64:
      return narrow<double>(numbers, out, [](float number) { return double{number}; });
    case DType::kF32:
      return narrow<float>(numbers, out, [](float number) { return number; });
    case DType::kBf16:
      return narrow<uint16_t>(numbers, out, fp32_to_bf16);
    case DType::kF16:
      return narrow<uint16_t>(numbers, out, fp32_to_fp16);
    default:
      throw BugError(format("fp32 as {}", dtype_name(to)));
  }
}

}  // namespace shoal::state

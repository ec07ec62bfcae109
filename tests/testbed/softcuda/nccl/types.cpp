#include "types.h"

#include <cmath>

#include <nccl.h>

namespace softcuda {

size_t width_of(int type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

const char* name_of(int type) {
  switch (type) {
    case ncclInt8:
      return "int8";
    case ncclUint8:
      return "uint8";
    case ncclInt32:
      return "int32";
    case ncclUint32:
      return "uint32";
    case ncclInt64:
      return "int64";
    case ncclUint64:
      return "uint64";
    case ncclFloat16:
      return "float16";
    case ncclBfloat16:
      return "bfloat16";
    case ncclFloat32:
      return "float32";
    case ncclFloat64:
      return "float64";
    case ncclFloat8e4m3:
      return "float8e4m3";
    case ncclFloat8e5m2:
      return "float8e5m2";
    default:
      return "an unknown type";
  }
}

Bfloat16::Bfloat16(float value) {
  uint32_t wide = 0;
  std::memcpy(&wide, &value, sizeof wide);
  constexpr uint16_t kNan = 0x7FC0;
  bits_ = std::isnan(value) ? kNan : uint16_t((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16);
}

Bfloat16::operator float() const {
  const uint32_t wide = uint32_t(bits_) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

}  // namespace softcuda

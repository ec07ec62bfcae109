#include "reduction.h"

#include <algorithm>

#include "report.h"
#include "types.h"

namespace softcuda {
namespace {

template <class A>
A combine(A sum, A value, int operation) {
  switch (operation) {
    case ncclProd:
      return A(sum * value);
    case ncclMax:
      return std::max(sum, value);
    case ncclMin:
      return std::min(sum, value);
    default:
      return A(sum + value);
  }
}

// Elements of type T, summed as A.
template <class T, class A>
void reduce_as(const Communicator& communicator, void* out, size_t count, int operation) {
  auto* to = static_cast<T*>(out);
  const bool has_factor = operation >= ncclNumOps;
  const double factor = has_factor ? communicator.factor_of(operation) : 1;
  const auto value = [&](int rank, size_t i) {
    const A plain = A(reinterpret_cast<const T*>(communicator.shared().slot(rank))[i]);
    return has_factor ? A(double(plain) * factor) : plain;
  };
  for (size_t i = 0; i < count; ++i) {
    A sum = value(0, i);
    for (int r = 1; r < communicator.ranks(); ++r) sum = combine(sum, value(r, i), operation);
    if (operation == ncclAvg) sum = A(sum / A(communicator.ranks()));
    to[i] = T(sum);
  }
}

}  // namespace

void reduce_slots(
    const Communicator& communicator, void* to, size_t count, int type, int operation) {
  switch (type) {
    case ncclInt8:
      return reduce_as<int8_t, int8_t>(communicator, to, count, operation);
    case ncclUint8:
      return reduce_as<uint8_t, uint8_t>(communicator, to, count, operation);
    case ncclInt32:
      return reduce_as<int32_t, int32_t>(communicator, to, count, operation);
    case ncclUint32:
      return reduce_as<uint32_t, uint32_t>(communicator, to, count, operation);
    case ncclInt64:
      return reduce_as<int64_t, int64_t>(communicator, to, count, operation);
    case ncclUint64:
      return reduce_as<uint64_t, uint64_t>(communicator, to, count, operation);
    case ncclFloat32:
      return reduce_as<float, float>(communicator, to, count, operation);
    case ncclFloat64:
      return reduce_as<double, double>(communicator, to, count, operation);
    case ncclBfloat16:
      return reduce_as<Bfloat16, float>(communicator, to, count, operation);
    case ncclFloat16:
      return reduce_as<Float16, float>(communicator, to, count, operation);
    default:
      die("a collective reduces %s, which has no double", name_of(type));
  }
}

}  // namespace softcuda

#include "shoal/comm/reduction.h"

#include "shoal/core/error.h"

namespace shoal::comm {

c10d::ReduceOp to_c10d(Reduce op) {
  switch (op) {
    case Reduce::kSum:
      return c10d::ReduceOp::SUM;
    case Reduce::kAvg:
      return c10d::ReduceOp::AVG;
    case Reduce::kMin:
      return c10d::ReduceOp::MIN;
    case Reduce::kMax:
      return c10d::ReduceOp::MAX;
  }
  throw BugError("an unknown reduction");
}

Reduce to_reduce(const c10d::ReduceOp& op) {
  if (op == c10d::ReduceOp::SUM) return Reduce::kSum;
  if (op == c10d::ReduceOp::AVG) return Reduce::kAvg;
  if (op == c10d::ReduceOp::MIN) return Reduce::kMin;
  if (op == c10d::ReduceOp::MAX) return Reduce::kMax;
  throw BugError("a reduction that shoal does not use");
}

Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return Element::kDouble;
    case at::kFloat:
      return Element::kFloat;
    case at::kBFloat16:
      return Element::kBFloat16;
    case at::kHalf:
      return Element::kHalf;
    case at::kLong:
      return Element::kInt64;
    default:
      throw BugError(format("{} cannot be reduced", c10::toString(tensor.scalar_type())));
  }
}

int64_t bytes_of(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }

int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += bytes_of(tensor);
  return bytes;
}

}  // namespace shoal::comm

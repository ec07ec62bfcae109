#include "shoal/parallel/tensor/tensor_gradients.h"

#include <ATen/ATen.h>

#include "shoal/core/format.h"

namespace shoal::parallel {

void sum_partial_gradients(model::UnitWeights& unit, comm::Group& tp) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> partial;
  std::vector<at::Tensor> flat;
  for (size_t i = 0; i < unit.size(); ++i) {
    if (unit.spec(i).split) continue;
    partial.push_back(unit.gradient(i));
    flat.push_back(partial.back().reshape({-1}));
  }
  if (partial.empty()) return;
  const at::Tensor sums = at::cat(flat);
  tp.all_reduce(sums, comm::Reduce::kSum, format("partial gradients of {}", unit.name())).wait();
  int64_t begin = 0;
  for (const at::Tensor& gradient : partial) {
    gradient.copy_(sums.narrow(0, begin, gradient.numel()).view(gradient.sizes()));
    begin += gradient.numel();
  }
}

}  // namespace shoal::parallel

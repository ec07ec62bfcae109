#include "shoal/parallel/tensor/tensor_norm.h"

#include <ATen/ATen.h>

#include "shoal/model/functions/wide_type.h"

namespace shoal::parallel {
namespace {

class SplitRmsNorm final : public model::RowWise {
 public:
  SplitRmsNorm(model::Weight weight, int64_t width, double epsilon, comm::Group group)
      : weight_(weight), width_(width), epsilon_(epsilon), group_(std::move(group)) {}

  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    const at::Tensor wide = x.to(model::wide_type(x));
    const at::Tensor scale = mean(wide.square()).add_(epsilon_).rsqrt_();
    return {(wide * scale).to(x.scalar_type()).mul_(weight_.value()), {scale}};
  }

  // The formula is that of one rank (norm.cpp), with means over all ranks.
  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& kept,
                                    const at::Tensor& gradient) const override {
    const at::Tensor wide = x.to(model::wide_type(x));
    const at::Tensor unit = wide * kept[0];
    const at::Tensor g = gradient.to(wide.scalar_type());
    weight_.add_gradient((g * unit).reshape({-1, x.size(-1)}).sum(0));
    const at::Tensor along = g * weight_.value().to(wide.scalar_type());
    return (along - unit * mean(along * unit)).mul_(kept[0]).to(x.scalar_type());
  }

 private:
  [[nodiscard]] at::Tensor mean(const at::Tensor& x) const {
    at::Tensor sum = x.sum(-1, /*keepdim=*/true);
    comm::Group group = group_;
    group.all_reduce(sum, comm::Reduce::kSum, weight_.spec().name).wait();
    return sum.div_(width_);
  }

  model::Weight weight_;
  int64_t width_;
  double epsilon_;
  comm::Group group_;
};

}  // namespace

std::unique_ptr<model::RowWise> split_rms_norm(model::Weight weight,
                                               int64_t width,
                                               double epsilon,
                                               const comm::Group& group) {
  return std::make_unique<SplitRmsNorm>(weight, width, epsilon, group);
}

}  // namespace shoal::parallel

#include <ATen/ATen.h>

#include "shoal/model/functions/recording.h"
#include "shoal/model/functions/rowwise.h"
#include "shoal/model/functions/wide_type.h"

namespace shoal::model {
namespace {

std::optional<at::Tensor> value_of(const Weight& weight) {
  return weight.defined() ? std::optional(weight.value()) : std::nullopt;
}

class LayerNorm final : public RowWise {
 public:
  LayerNorm(Weight weight, Weight bias, double epsilon)
      : weight_(weight), bias_(bias), epsilon_(epsilon) {}

  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    auto [output, mean, scale] =
        at::native_layer_norm(x, {x.size(-1)}, value_of(weight_), value_of(bias_), epsilon_);
    return {output, {mean, scale}};
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& kept,
                                    const at::Tensor& gradient) const override {
    auto [dx, dweight, dbias] = at::native_layer_norm_backward(
        gradient.contiguous(), x, {x.size(-1)}, kept[0], kept[1], value_of(weight_),
        value_of(bias_), {true, weight_.defined(), bias_.defined()});
    if (weight_.defined()) weight_.add_gradient(dweight);
    if (bias_.defined()) bias_.add_gradient(dbias);
    return dx;
  }

 private:
  Weight weight_;
  Weight bias_;
  double epsilon_;
};

// Half-precision rows are normalized in fp32, as all implementations do.
class RmsNorm final : public RowWise {
 public:
  RmsNorm(Weight weight, double epsilon) : weight_(weight), epsilon_(epsilon) {}

  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    if (x.is_cuda()) {  // one kernel, which CPUs do not have
      auto [output, scale] = at::_fused_rms_norm(x, {x.size(-1)}, value_of(weight_), epsilon_);
      return {output, {scale}};
    }
    const at::Tensor wide = x.to(wide_type(x));
    const at::Tensor scale = wide.square().mean(-1, /*keepdim=*/true).add_(epsilon_).rsqrt_();
    at::Tensor output = (wide * scale).to(x.scalar_type());
    if (weight_.defined()) output.mul_(weight_.value());
    return {output, {scale}};
  }

  // y = w * x * s with s = (mean(x^2) + e)^(-1/2), so dx = s * (w g) - x * s^3 * mean(x * (w g)).
  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& kept,
                                    const at::Tensor& gradient) const override {
    if (x.is_cuda()) {
      auto [dx, dweight] =
          at::_fused_rms_norm_backward(gradient.contiguous(), x, {x.size(-1)}, kept[0],
                                       value_of(weight_), {true, weight_.defined()});
      if (weight_.defined()) weight_.add_gradient(dweight);
      return dx;
    }
    const at::Tensor wide = x.to(wide_type(x));
    const at::Tensor unit = wide * kept[0];
    at::Tensor g = gradient.to(wide.scalar_type());
    if (weight_.defined()) {
      weight_.add_gradient((g * unit).reshape({-1, x.size(-1)}).sum(0));
      g = g * weight_.value().to(wide.scalar_type());
    }
    const at::Tensor along = (g * unit).mean(-1, /*keepdim=*/true);
    return (g - unit * along).mul_(kept[0]).to(x.scalar_type());
  }

 private:
  Weight weight_;
  double epsilon_;
};

}  // namespace

at::Tensor RowWise::operator()(const at::Tensor& x) const {
  const Recording recording({x});
  Result result = forward(x);
  return recording.finish(
      std::move(result.output),
      [this, x = x.detach(), kept = std::move(result.kept)](const at::Tensor& gradient) {
        return Gradients{backward(x, kept, gradient)};
      });
}

std::unique_ptr<RowWise> layer_norm(Weight weight, Weight bias, double epsilon) {
  return std::make_unique<LayerNorm>(weight, bias, epsilon);
}

std::unique_ptr<RowWise> rms_norm(Weight weight, double epsilon) {
  return std::make_unique<RmsNorm>(weight, epsilon);
}

}  // namespace shoal::model

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/model/functions/rowwise.h"

namespace shoal::model {
namespace {

class Gelu final : public RowWise {
 public:
  explicit Gelu(const char* approximate) : approximate_(approximate) {}

  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    return {at::gelu(x, approximate_)};
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& /*kept*/,
                                    const at::Tensor& gradient) const override {
    return at::gelu_backward(gradient, x, approximate_);
  }

 private:
  const char* approximate_;  // as at::gelu calls it
};

class Swiglu final : public RowWise {
 public:
  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return {at::silu(halves[0]).mul_(halves[1])};
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& /*kept*/,
                                    const at::Tensor& gradient) const override {
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    at::Tensor dx = at::empty_like(x);
    std::vector<at::Tensor> dhalves = dx.chunk(2, -1);
    dhalves[0].copy_(at::silu_backward(gradient * halves[1], halves[0]));
    at::mul_out(dhalves[1], gradient, at::silu(halves[0]));
    return dx;
  }
};

}  // namespace

std::unique_ptr<RowWise> activation(config::Activation kind) {
  switch (kind) {
    case config::Activation::kGelu:
      return std::make_unique<Gelu>("none");
    case config::Activation::kGeluTanh:
      return std::make_unique<Gelu>("tanh");
    case config::Activation::kSwiglu:
      return std::make_unique<Swiglu>();
  }
  throw BugError("no such activation");
}

}  // namespace shoal::model

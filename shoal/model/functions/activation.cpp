#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/model/functions/gelu_loop.h"
#include "shoal/model/functions/parallel_loop.h"
#include "shoal/model/functions/rowwise.h"

namespace shoal::model {
namespace {

class Gelu final : public RowWise {
 public:
  [[nodiscard]] Result forward(const at::Tensor& x) const override { return {at::gelu(x)}; }

  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& /*kept*/,
                                    const at::Tensor& gradient) const override {
    return at::gelu_backward(gradient, x);
  }
};

constexpr int64_t kWorthAThread = 1 << 13;  // elements

// On a CPU at::gelu can take as long as the matrix product before it, whose rows are short; these loops
// take a fifth of it.
template <class Number>
at::Tensor gelu_tanh_on_cpu(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const auto* const in = static_cast<const Number*>(x.const_data_ptr());
  auto* const out = static_cast<Number*>(y.mutable_data_ptr());
  parallel_loop(x.numel(), kWorthAThread, [&](int64_t begin, int64_t end) {
    gelu_tanh(in + begin, out + begin, static_cast<size_t>(end - begin));
  });
  return y;
}

template <class Number>
at::Tensor gelu_tanh_backward_on_cpu(const at::Tensor& x, const at::Tensor& gradient) {
  at::Tensor result = at::empty_like(x);
  const auto* const in = static_cast<const Number*>(x.const_data_ptr());
  const auto* const dy = static_cast<const Number*>(gradient.const_data_ptr());
  auto* const dx = static_cast<Number*>(result.mutable_data_ptr());
  parallel_loop(x.numel(), kWorthAThread, [&](int64_t begin, int64_t end) {
    gelu_tanh_backward(in + begin, dy + begin, dx + begin, static_cast<size_t>(end - begin));
  });
  return result;
}

class GeluTanh final : public RowWise {
 public:
  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    if (is_on_cpu(x, at::kFloat)) return {gelu_tanh_on_cpu<float>(x.contiguous())};
    if (is_on_cpu(x, at::kBFloat16)) return {gelu_tanh_on_cpu<Bf16>(x.contiguous())};
    return {at::gelu(x, "tanh")};
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& /*kept*/,
                                    const at::Tensor& gradient) const override {
    if (is_on_cpu(x, at::kFloat))
      return gelu_tanh_backward_on_cpu<float>(x.contiguous(), gradient.contiguous());
    if (is_on_cpu(x, at::kBFloat16))
      return gelu_tanh_backward_on_cpu<Bf16>(x.contiguous(), gradient.contiguous());
    return at::gelu_backward(gradient, x, "tanh");
  }

 private:
  static bool is_on_cpu(const at::Tensor& x, at::ScalarType type) {
    return x.is_cpu() && x.scalar_type() == type;
  }
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
    at::silu_backward_out(dhalves[0], gradient * halves[1], halves[0]);
    at::mul_out(dhalves[1], gradient, at::silu(halves[0]));
    return dx;
  }
};

}  // namespace

std::unique_ptr<RowWise> activation(config::Activation kind) {
  switch (kind) {
    case config::Activation::kGelu:
      return std::make_unique<Gelu>();
    case config::Activation::kGeluTanh:
      return std::make_unique<GeluTanh>();
    case config::Activation::kSwiglu:
      return std::make_unique<Swiglu>();
  }
  throw BugError("no such activation");
}

}  // namespace shoal::model

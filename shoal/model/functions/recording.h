// recording.h -- a computation and its backward pass, as one node of autograd.
//
//   at::Tensor squared(const at::Tensor& x) {
//     const Recording recording({x});
//     return recording.finish(x * x, [x](const at::Tensor& g) { return Gradients{2 * g * x}; });
//   }
//
// While a Recording lives autograd is off, so only what the closure holds is kept for the backward
// pass, until it has run. A closure may hold inputs, but outputs only detached, or they would hold
// themselves and never be freed.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace shoal::model {

using Gradients = std::vector<at::Tensor>;  // by input, in their order; undefined: none

// An autograd node whose backward pass is a closure. It takes the gradient of the output, or a
// Gradients of all outputs, in which the gradient of an unused output is undefined.
template <class Backward>
class ClosureNode final : public torch::autograd::Node {
 public:
  explicit ClosureNode(Backward backward) : backward_(std::move(backward)) {}

  [[nodiscard]] std::string name() const override { return "shoal::ClosureNode"; }

  void release_variables() override { backward_.reset(); }

 private:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(backward_, "the backward pass of a layer ran twice");
    const at::NoGradGuard no_grad;
    if constexpr (std::is_invocable_v<Backward&, const at::Tensor&>) {
      return (*backward_)(gradients[0]);
    } else {
      return (*backward_)(gradients);
    }
  }

  std::optional<Backward> backward_;
};

class Recording {
 public:
  Recording(std::initializer_list<at::Tensor> inputs) : wanted_(at::GradMode::is_enabled()) {
    bool any = false;
    for (const at::Tensor& input : inputs) any |= input.defined() && input.requires_grad();
    wanted_ = wanted_ && any;
    if (!wanted_) return;
    for (const at::Tensor& input : inputs)
      edges_.push_back(input.defined() ? torch::autograd::impl::gradient_edge(input)
                                       : torch::autograd::Edge());
  }

  // Returns whether there will be a backward pass.
  [[nodiscard]] bool wanted() const { return wanted_; }

  // Attaches the backward pass to the outputs, which are a tensor or a std::vector of tensors.
  template <class Outputs, class Backward>
  Outputs finish(Outputs outputs, Backward&& backward) const {
    if (!wanted_) return outputs;
    using Closure = std::decay_t<Backward>;
    auto node = c10::make_intrusive<ClosureNode<Closure>>(std::forward<Backward>(backward));
    node->set_next_edges(torch::autograd::edge_list(edges_));
    torch::autograd::set_history(outputs, node);
    return outputs;
  }

 private:
  bool wanted_;
  torch::autograd::edge_list edges_;
  at::AutoGradMode off_{false};
};

}  // namespace shoal::model

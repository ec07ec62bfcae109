// weights.h -- the weights of a unit, and their gradients, each in one flat tensor.
//
//   UnitWeights unit(blueprint::units_of(config, {.first_block = 3, .blocks = 1}).front());
//   unit.materialize({.seed = 1});
//   unit.named("blocks.3.mlp.up.weight").value()          // a view of the flat tensor
//
// Layers keep a Weight, which only points: whoever owns the flat tensors gives and takes them with
// set_weights() and set_gradients(), also between forward and backward. Gradients are written by layers
// themselves, straight into the flat tensor; autograd never sees a weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/blueprint/decoder.h"

namespace shoal::model {

using blueprint::WeightSpec;

// The elements of a box of a tensor, as a view.
at::Tensor in_box(const at::Tensor& whole, const Box& box);

class UnitWeights;

class Weight {
 public:
  Weight() = default;
  Weight(UnitWeights* unit, size_t index) : unit_(unit), index_(index) {}

  [[nodiscard]] bool defined() const { return unit_ != nullptr; }
  [[nodiscard]] const at::Tensor& value() const;
  [[nodiscard]] const WeightSpec& spec() const;

  // Adds to the gradient: a tensor of the weight's shape, or left^T right.
  void add_gradient(const at::Tensor& gradient) const;
  void add_gradient_product(const at::Tensor& left, const at::Tensor& right) const;
  // The same, now or in run_later(), as the unit was told: what a pipeline fills its bubbles with.
  void add_gradient_product_later(const at::Tensor& left, const at::Tensor& right) const;
  // Adds rows[i] to row indices[i].
  void add_gradient_rows(const at::Tensor& indices, const at::Tensor& rows) const;

 private:
  UnitWeights* unit_ = nullptr;
  size_t index_ = 0;
};

struct Materials {
  at::ScalarType dtype = at::kFloat;           // of the weights
  at::ScalarType gradient_dtype = at::kFloat;  // fp32 below it: sums over micro-batches stay exact
  c10::Device device = c10::Device(c10::kCPU);
  uint64_t seed = 0;
  bool gradients = true;  // beside the weights; a model that is only used needs none
  bool new_values =
      true;  // else zeros: drawing what is then loaded takes longer than reading a file
};

class UnitWeights {
 public:
  explicit UnitWeights(blueprint::UnitBlueprint unit) : unit_(std::move(unit)) {}
  UnitWeights(const UnitWeights&) = delete;
  UnitWeights& operator=(const UnitWeights&) = delete;

  [[nodiscard]] const blueprint::UnitBlueprint& blueprint() const { return unit_; }
  [[nodiscard]] const std::string& name() const { return unit_.name; }
  // The weight of this name, which the blueprint has.
  [[nodiscard]] Weight named(std::string_view name) { return {this, index_of(name)}; }
  [[nodiscard]] size_t index_of(std::string_view name) const;

  // Makes both tensors, whole.
  void materialize(const Materials& materials);

  // Of the flat tensors. Between and behind the weights are zeros.
  [[nodiscard]] int64_t elements() const { return unit_.layout.elements; }

  // The flat tensors that the layers work on from here on; undefined: none.
  void set_weights(const at::Tensor& flat);
  void set_gradients(const at::Tensor& flat);

  // New values of the elements from `first` on, as many as `out` has: any part of a model can be made
  // without the rest. Each is a pure function of seed, name and place in the logical tensor.
  void draw(const at::Tensor& out, int64_t first, uint64_t seed) const;

  [[nodiscard]] size_t size() const { return unit_.weights.size(); }
  [[nodiscard]] const WeightSpec& spec(size_t index) const { return unit_.weights[index]; }
  [[nodiscard]] const at::Tensor& weight(size_t index) const { return weights_[index]; }
  [[nodiscard]] const at::Tensor& gradient(size_t index) const { return gradients_[index]; }

  [[nodiscard]] const at::Tensor& flat_weight() const { return flat_weight_; }
  [[nodiscard]] const at::Tensor& flat_gradient() const { return flat_gradient_; }
  // The weights' places in another flat tensor of the same layout.
  [[nodiscard]] std::vector<at::Tensor> views_of(const at::Tensor& flat) const;
  [[nodiscard]] int64_t offset(size_t index) const { return unit_.layout.offsets[index]; }

  // The gradients of a step start from nothing, and are complete: what nobody wrote is zero.
  void open_gradients();
  void close_gradients();

  // From here on products wait for run_later().
  void defer_products() { deferring_ = true; }
  void run_later();

 private:
  friend class Weight;

  void multiply_into(size_t index, const at::Tensor& left, const at::Tensor& right);
  // Whether this is the first write of a step.
  bool first_write(size_t index);

  blueprint::UnitBlueprint unit_;
  at::Tensor flat_weight_;
  at::Tensor flat_gradient_;
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> gradients_;
  std::vector<bool> written_;
  bool deferring_ = false;
  std::vector<std::function<void()>> later_;
};

}  // namespace shoal::model

// weights.h -- the weights of a unit, and their gradients, each in one flat tensor.
//
//   UnitWeights unit(blueprint::units_of(config, {.first_block = 3, .blocks = 1}).front());
//   unit.materialize({.seed = 1});
//   unit.named("blocks.3.mlp.up.weight").value()          // a view of the flat tensor
//
// Layers keep a Weight, which is a pointer: the owner of the flat tensors exchanges them with
// set_weights() and set_gradients(), also between forward and backward. Layers write gradients
// themselves, straight into the flat tensor; autograd never sees a weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/blueprint/decoder.h"

namespace shoal::model {

using blueprint::WeightSpec;

// Returns a box of a tensor as a view.
at::Tensor in_box(const at::Tensor& whole, const Box& box);

class UnitWeights;

class Weight {
 public:
  Weight() = default;
  Weight(UnitWeights* unit, size_t index) : unit_(unit), index_(index) {}

  [[nodiscard]] bool defined() const { return unit_ != nullptr; }
  [[nodiscard]] const at::Tensor& value() const;
  [[nodiscard]] const WeightSpec& spec() const;

  // Both add to the gradient: a tensor of the weight's shape, or left^T right.
  void add_gradient(const at::Tensor& gradient) const;
  // Adds the sum of these rows.
  void add_gradient_sum(const at::Tensor& rows) const;
  void add_gradient_product(const at::Tensor& left, const at::Tensor& right) const;
  // Adds rows[i] to row indices[i] of the gradient.
  void add_gradient_rows(const at::Tensor& indices, const at::Tensor& rows) const;

 private:
  UnitWeights* unit_ = nullptr;
  size_t index_ = 0;
};

struct Materials {
  at::ScalarType dtype = at::kFloat;           // type of the weights
  at::ScalarType gradient_dtype = at::kFloat;  // fp32 for narrower weights: gradients accumulate
  c10::Device device = c10::Device(c10::kCPU);
  uint64_t seed = 0;
  bool gradients = true;  // whether to allocate gradients; inference needs none
  // Whether to draw initial values; else zeros, for weights that are then loaded: drawing takes
  // longer than reading a file.
  bool new_values = true;
};

class UnitWeights {
 public:
  explicit UnitWeights(blueprint::UnitBlueprint unit) : unit_(std::move(unit)) {}
  UnitWeights(const UnitWeights&) = delete;
  UnitWeights& operator=(const UnitWeights&) = delete;

  [[nodiscard]] const blueprint::UnitBlueprint& blueprint() const { return unit_; }
  [[nodiscard]] const std::string& name() const { return unit_.name; }
  // Returns the weight of this name; throws BugError when the blueprint has none.
  [[nodiscard]] Weight named(std::string_view name) { return {this, index_of(name)}; }
  [[nodiscard]] size_t index_of(std::string_view name) const;

  // Allocates the whole flat weights, and the gradients if `materials` asks for them.
  void materialize(const Materials& materials);

  // Returns the number of elements of a flat tensor. Between and behind the weights is zero
  // padding.
  [[nodiscard]] int64_t elements() const { return unit_.layout.elements; }

  // Sets the flat tensors that the layers use from here on; undefined: none.
  void set_weights(const at::Tensor& flat);
  void set_gradients(const at::Tensor& flat);

  // Draws initial values of the elements from `first` on, as many as `out` has: any part of a model
  // can be initialized without the rest. Each is a pure function of seed, name and place in the
  // logical tensor.
  void draw(const at::Tensor& out, int64_t first, uint64_t seed) const;

  [[nodiscard]] size_t size() const { return unit_.weights.size(); }
  [[nodiscard]] const WeightSpec& spec(size_t index) const { return unit_.weights[index]; }
  [[nodiscard]] const at::Tensor& weight(size_t index) const { return weights_[index]; }
  [[nodiscard]] const at::Tensor& gradient(size_t index) const { return gradients_[index]; }

  [[nodiscard]] const at::Tensor& flat_weight() const { return flat_weight_; }
  [[nodiscard]] const at::Tensor& flat_gradient() const { return flat_gradient_; }
  // Returns views of the weights in another flat tensor of the same layout.
  [[nodiscard]] std::vector<at::Tensor> views_of(const at::Tensor& flat) const;
  [[nodiscard]] int64_t offset(size_t index) const { return unit_.layout.offsets[index]; }

  // open_gradients() begins the gradients of a step: the first write of each overwrites.
  // close_gradients() completes them: gradients that were not written, and padding, become zero.
  void open_gradients();
  void close_gradients();

 private:
  friend class Weight;

  void multiply_into(size_t index, const at::Tensor& left, const at::Tensor& right);
  // Returns whether this is the first write of a step, and marks it.
  bool first_write(size_t index);

  blueprint::UnitBlueprint unit_;
  at::Tensor flat_weight_;
  at::Tensor flat_gradient_;
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> gradients_;
  std::vector<bool> written_;
};

}  // namespace shoal::model

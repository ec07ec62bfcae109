// stage.h -- the loop over units: forward and backward through a row of them, whose weights may be
// divided among ranks.
//
//   forward                        backward
//   for each unit:                 for each unit, from the last:
//     open its group                 open its group, start the gather of the next
//     start the gather of the next   (compute forward again), backward
//     compute                        close the group, start to add up its gradient
//     close the group                finish that of the group before
//
// A stage is a whole decoder, or the part of one that a pipeline rank has. Each unit is an island of
// autograd: nothing holds a weight between the two loops.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "shoal/config/parallel_config.h"
#include "shoal/config/train_config.h"
#include "shoal/model/decoder.h"
#include "shoal/parallel/unit_group.h"

namespace shoal::parallel {

struct StageOptions {
  config::Recompute recompute = config::Recompute::kNone;
  int prefetch = 1;  // groups
  // The backward pass follows the forward pass at once: the last group stays open between them.
  bool backward_follows = true;
  // Completes the whole gradients of a unit before data-parallel ranks add theirs up.
  std::function<void(model::UnitWeights&)> before_reduce = [](model::UnitWeights&) {};
};

class Stage {
 public:
  // A group of tensors for each group of the decoder's units, as plan::group_units makes them. None: the
  // units have their own tensors.
  Stage(const model::Decoder& decoder,
        std::vector<std::vector<size_t>> groups,
        std::vector<std::unique_ptr<UnitGroup>> tensors,
        StageOptions options);
  virtual ~Stage() = default;

  // What a micro-batch leaves between its forward and its backward pass.
  struct Kept {
    model::Pass pass;
    std::vector<at::Tensor> in;
    std::vector<at::Tensor> out;  // undefined: to be computed again
  };

  // `x` is the output of the stage before, or undefined. Gives the output, or the loss.
  virtual at::Tensor forward(const at::Tensor& x, const model::Pass& pass, Kept& kept);
  // `gradient` of the output; undefined for a loss. Gives the gradient of x, and adds those of weights.
  virtual at::Tensor backward(Kept& kept, const at::Tensor& gradient, bool last_micro_batch);
  // Without anything to go back on.
  at::Tensor evaluate(const at::Tensor& x, const model::Pass& pass);

  // After the backward passes of a step.
  void complete_gradients();

  [[nodiscard]] const model::Decoder& decoder() const { return decoder_; }
  [[nodiscard]] const std::vector<std::unique_ptr<UnitGroup>>& groups() const { return groups_; }

 private:
  // What a unit has to do with its group.
  struct Place {
    UnitGroup* group = nullptr;
    bool first = false;  // of the group, in the order of the forward pass
    bool last = false;
  };

  // Makes the group of a unit ready, and starts the gathers of those that come next.
  void open(size_t unit, Direction direction);
  // Starts to add up the gradients of a group whose backward pass is over.
  void reduce(UnitGroup& group, bool last_micro_batch);

  const model::Decoder& decoder_;
  std::vector<std::vector<size_t>> members_;
  std::vector<std::unique_ptr<UnitGroup>> groups_;
  StageOptions options_;
  std::vector<Place> places_;  // of the units
  std::vector<UnitGroup*> forward_order_;
  std::vector<UnitGroup*> backward_order_;
  UnitGroup* reducing_ = nullptr;
};

}  // namespace shoal::parallel

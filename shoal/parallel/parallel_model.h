// parallel_model.h -- a decoder and its optimizer, spread over ranks: this rank's part of them, and
// the steps that all ranks take together.
//
//   ParallelModel model(config, ranks, materials);
//   const at::Tensor loss = model.forward_backward(passes, {.lr = lr});    // gradients are complete on all ranks
//   const optim::Update update = model.update();                           // and now the weights are new
//
// A layout changes where the arithmetic happens, not its result: loss, gradients and new weights
// are those of one rank up to round-off. One rank alone is the layout in which every group has one
// member.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/model/builder.h"
#include "shoal/model/decoder.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/executor.h"
#include "shoal/parallel/ranks.h"
#include "shoal/parallel/step_times.h"
#include "shoal/plan/holdings.h"
#include "shoal/plan/program.h"

namespace shoal::parallel {

struct StepOptions {
  double lr = 0;
  // The factor that `targets.gradient_scale` of the passes has multiplied the gradients by.
  at::Tensor gradient_scale = {};
  OperationListener* listener = nullptr;
};

struct Evaluation {
  double loss = 0;      // mean over the targets of all ranks
  int64_t targets = 0;  // targets of all ranks
};

// Returns the elements of a holding, from the whole logical tensor.
at::Tensor part_of(const at::Tensor& whole, const plan::Holding& holding);

class ParallelModel {
 public:
  // `config.model.vocab_size` is set, and the layout has been checked. There is no optimizer when
  // `materials.gradients` is false. `ranks` outlives the model. Collective, as are all steps below.
  ParallelModel(const config::RunConfig& config,
                const Ranks& ranks,
                const model::Materials& materials,
                const model::MakeBlock& block = model::make_block);
  ~ParallelModel();

  // Runs the program of a step until gradients are complete, and returns the loss of all ranks: the
  // mean over their targets. `passes` are this rank's micro-batches: as many as on every other
  // rank, and the same ones on ranks of one pipeline and of one tensor-parallel group.
  at::Tensor forward_backward(std::span<const model::Pass> passes, const StepOptions& options);
  [[nodiscard]] const at::Tensor& loss() const { return executor_.loss(); }
  // Returns this rank's share of that loss by micro-batch; undefined on ranks without the head.
  [[nodiscard]] const std::vector<at::Tensor>& own_losses() const { return executor_.results(); }
  // Runs the rest of that program: the optimizer, and the gathers of weights that stay whole.
  optim::Update update(OperationListener* listener = nullptr);
  // Whether masters and moments belong to one step: false after update() has thrown half-way.
  [[nodiscard]] bool is_between_steps() const { return !updating_; }

  // Runs this program in later steps with the micro-batches of the plan, in place of that which the
  // plan compiles to: for tests of wrong programs.
  void follow(plan::Program program) { program_ = std::move(program); }

  // Returns the loss, without computing gradients.
  Evaluation evaluate(std::span<const model::Pass> passes);

  // Returns the sum of the losses of one pass, or the logits of a pass without targets: the same on
  // all ranks, to the bit. All ranks pass the same `pass`.
  at::Tensor forward(const model::Pass& pass);

  // Waits until no gather writes to the shards: before others read them.
  void settle() const;
  // Calls `set`, which writes into masters(), and then updates the weights from them.
  void set_masters(const std::function<void()>& set);

  [[nodiscard]] const plan::RankPlan& plan() const { return plan_; }
  // Returns the contents of the shards; Holding::group is an index into groups() and masters().
  [[nodiscard]] std::vector<plan::Holding> holdings() const { return plan::holdings_of(plan_); }
  // Returns this rank's elements of a weight or of its gradient, as views of the shards.
  [[nodiscard]] at::Tensor weight_of(const plan::Holding& holding) const;
  [[nodiscard]] at::Tensor gradient_of(const plan::Holding& holding) const;
  // Returns all groups of units that this rank has a shard of.
  [[nodiscard]] std::vector<UnitGroup*> groups() const;
  // Returns the shards in the widest type that is kept: master weights of the optimizer, or the
  // shards themselves.
  [[nodiscard]] std::vector<at::Tensor> masters() const;
  // Throws BugError when the model has no gradients.
  [[nodiscard]] optim::Optimizer& optimizer() const;

  [[nodiscard]] c10::Device device() const { return materials_.device; }
  [[nodiscard]] const config::ModelConfig& config() const { return plan_.config.model; }

 private:
  [[nodiscard]] std::vector<StageTensors> make_stages(const model::MakeBlock& block) const;
  [[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer() const;
  // Adds positions and rotary angles to the passes, and gives them to the executor.
  void begin(std::span<const model::Pass> passes);
  // Builds the program of a step with so many micro-batches.
  void compile_for(size_t micro_batches);
  [[nodiscard]] std::span<const plan::Operation> until_norm() const;
  [[nodiscard]] std::span<const plan::Operation> from_norm() const;
  // Returns an uninitialized tensor for the output of the last unit.
  [[nodiscard]] at::Tensor room_for_result(const model::Pass& pass) const;

  const model::Materials materials_;
  const Ranks& ranks_;
  plan::RankPlan plan_;
  comm::Group losses_;
  std::unique_ptr<model::Builder> builder_;
  std::vector<StageTensors> stages_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  plan::Program program_;          // of a step with the micro-batches of the plan
  plan::Program forward_program_;  // of one forward pass
  Executor executor_;
  bool updating_ = false;
};

}  // namespace shoal::parallel

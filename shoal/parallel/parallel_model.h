// parallel_model.h -- a decoder and its optimizer, spread over ranks: what this rank has of them, and the steps that all
// ranks take together.
//
//   ParallelModel model(config, ranks, materials);
//   const at::Tensor loss = model.forward_backward(passes, {.lr = lr});    // gradients are complete on all ranks
//   const optim::Update update = model.update();                           // and now the weights are new
//
// A layout decides where the arithmetic happens, and not its result: loss, gradients and new weights are those of one
// rank up to round-off. One rank alone is the layout in which every group has one member.
#pragma once

#include <functional>
#include <memory>
#include <span>
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
  at::Tensor gradient_scale =
      {};  // the factor that `targets.gradient_scale` of the passes put into the gradients
  OperationListener* listener = nullptr;
};

struct Evaluation {
  double loss = 0;      // the mean over the targets of all ranks
  int64_t targets = 0;  // of all ranks
};

// The elements of a holding, from the whole logical tensor.
at::Tensor part_of(const at::Tensor& whole, const plan::Holding& holding);

class ParallelModel {
 public:
  // `config.model.vocab_size` is given, and the layout has been checked. Without gradients among the materials there is
  // no optimizer. `ranks` outlives the model. Collective, as is all below.
  ParallelModel(const config::RunConfig& config,
                const Ranks& ranks,
                const model::Materials& materials);
  ~ParallelModel();

  // Runs the program of a step up to its complete gradients, and returns the loss of all ranks: the mean over their
  // targets. The passes are this rank's micro-batches, as many as on every other rank, and the same ones on ranks of one
  // pipeline and of one tensor-parallel group.
  at::Tensor forward_backward(std::span<const model::Pass> passes, const StepOptions& options);
  // Runs the rest of that program: the optimizer, and gathers of weights that stay whole.
  optim::Update update(OperationListener* listener = nullptr);

  // The loss without gradients.
  Evaluation evaluate(std::span<const model::Pass> passes);

  // The sum of the losses of one pass, or the logits of one without targets, on all ranks: the same to the bit. All ranks
  // are given the same pass.
  at::Tensor forward(const model::Pass& pass);

  // Calls `set`, which sets values in masters(): the weights follow them.
  void set_masters(const std::function<void()>& set);

  [[nodiscard]] const plan::RankPlan& plan() const { return plan_; }
  // The contents of shards; Holding::group counts groups() and masters().
  [[nodiscard]] std::vector<plan::Holding> holdings() const { return plan::holdings_of(plan_); }
  // All groups of units that this rank has a shard of.
  [[nodiscard]] std::vector<UnitGroup*> groups() const;
  // Their shards in the widest type that is kept: master weights of the optimizer, or the shards themselves.
  [[nodiscard]] std::vector<at::Tensor> masters() const;
  // Only where there are gradients.
  [[nodiscard]] optim::Optimizer& optimizer() const;

  [[nodiscard]] c10::Device device() const { return materials_.device; }
  [[nodiscard]] const config::ModelConfig& config() const { return plan_.config.model; }
  // Adds to a pass with tokens and documents what follows from them: positions and angles.
  void place(model::Pass& pass, int64_t first = 0) const {
    stages_.front().decoder->place(pass, first);
  }

 private:
  void add_stage(const plan::StagePlan& stage);
  [[nodiscard]] std::vector<optim::FlatUnit> flat_units() const;
  // The program of a step with so many micro-batches.
  void compile_for(size_t micro_batches);
  [[nodiscard]] std::span<const plan::Operation> until_norm() const;
  [[nodiscard]] std::span<const plan::Operation> from_norm() const;
  // Room for what the last unit gives.
  [[nodiscard]] at::Tensor room_for_result(const model::Pass& pass) const;

  const model::Materials materials_;
  const Ranks& ranks_;
  plan::RankPlan plan_;
  comm::Group losses_;
  std::unique_ptr<model::Builder> builder_;
  std::vector<StageTensors> stages_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  plan::Program program_;          // for as many micro-batches as the plan has
  plan::Program forward_program_;  // of one pass
  Executor executor_;
};

}  // namespace shoal::parallel

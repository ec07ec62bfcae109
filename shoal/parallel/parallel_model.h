// parallel_model.h -- a decoder spread over ranks: what this rank has of it, and the steps they take
// together.
//
//   ParallelModel model(config, ranks, materials);
//   optim::Optimizer optimizer(config.optimizer, model.trainable());
//   const at::Tensor loss = model.forward_backward(passes);     // gradients are complete on all ranks
//   optimizer.step(lr, loss);
//   model.changed();
//
// Where the arithmetic happens is the layout's affair, not its result: loss, gradients and new weights are
// those of one rank up to round-off. One rank alone is the layout in which every group has one member.
#pragma once

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
#include "shoal/plan/program.h"

namespace shoal::parallel {

// A piece of a weight on this rank.
struct HeldPiece {
  const UnitGroup* group = nullptr;
  Piece piece;
  bool counts = true;  // of ranks with different weights that have this piece, this is the first
};

class ParallelModel {
 public:
  // `config.model.vocab_size` is given, and the layout has been checked. `ranks` outlives the model.
  ParallelModel(const config::RunConfig& config,
                const Ranks& ranks,
                const model::Materials& materials);
  ~ParallelModel();

  // The gradients of a step, and its loss, of all ranks. The passes are this rank's micro-batches, as many
  // as on every other rank, and the same ones on ranks of one pipeline and of one tensor-parallel group;
  // their losses are shares of the step's.
  at::Tensor forward_backward(std::span<const model::Pass> passes,
                              OperationListener* listener = nullptr);

  // The loss of the passes of all ranks, without gradients.
  at::Tensor evaluate(std::span<const model::Pass> passes);

  // The loss of one pass, or the scores of one without targets, on all ranks: the same to the bit. All of them
  // are given the same pass.
  at::Tensor forward(const model::Pass& pass);

  [[nodiscard]] std::vector<HeldPiece> pieces() const;

  // What the optimizer works on, and with whom.
  [[nodiscard]] optim::Trainable trainable() const;
  // Before weights are set from outside, in the shards of groups(): nothing is sent of them any more.
  void settle();
  // The optimizer has changed the weights, or somebody else has.
  void changed();

  [[nodiscard]] c10::Device device() const { return materials_.device; }
  // Any part of the decoder: for positions and the config.
  [[nodiscard]] const model::Decoder& decoder() const { return *stages_.front().decoder; }
  // All groups of units that this rank has a shard of.
  [[nodiscard]] std::vector<UnitGroup*> groups() const;

 private:
  void add_stage(const plan::StagePlan& stage);
  // That of a step with so many micro-batches.
  const plan::Program& program_of(size_t micro_batches);
  // What the last unit gives for each pass, on the ranks that have it.
  std::vector<at::Tensor> results_of(std::span<const model::Pass> passes);
  // What the last unit gives: room for it.
  [[nodiscard]] at::Tensor room_for_result(const model::Pass& pass) const;
  // The losses of this rank's micro-batches, and those of other ranks.
  at::Tensor sum_of_losses(const std::vector<at::Tensor>& losses);

  const model::Materials materials_;
  const Ranks& ranks_;
  plan::RankPlan plan_;
  comm::Group losses_;
  comm::Group norms_;
  std::unique_ptr<model::Builder> builder_;
  std::vector<StageTensors> stages_;
  plan::Program program_;  // for as many micro-batches as the plan has
  plan::Program forward_program_;
  size_t forward_passes_ = 0;  // that it is for
  Executor executor_;
};

}  // namespace shoal::parallel

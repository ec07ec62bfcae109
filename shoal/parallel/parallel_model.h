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
#include "shoal/parallel/pipeline.h"
#include "shoal/parallel/ranks.h"
#include "shoal/parallel/stage.h"
#include "shoal/plan/stages.h"

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
  at::Tensor forward_backward(std::span<const model::Pass> passes, StepTimes* times = nullptr);

  // The loss of the passes of all ranks, without gradients.
  at::Tensor evaluate(std::span<const model::Pass> passes);

  // The loss of one pass, or the scores of one without targets, on all ranks: the same to the bit. All of them
  // are given the same pass.
  at::Tensor forward(const model::Pass& pass);

  [[nodiscard]] std::vector<HeldPiece> pieces() const;

  // What the optimizer works on, and with whom.
  [[nodiscard]] optim::Trainable trainable() const;
  // Before weights are set from outside, in the shards of stages()'s groups: nothing is sent of them any more.
  void settle();
  // The optimizer has changed the weights, or somebody else has.
  void changed();

  [[nodiscard]] c10::Device device() const { return materials_.device; }
  // Any part of the decoder: for positions and the config.
  [[nodiscard]] const model::Decoder& decoder() const { return *decoders_.front(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Stage>>& stages() const { return stages_; }

 private:
  void add_stage(const blueprint::UnitRange& stage);
  void make_pipeline(size_t micro_batches);
  // One for passes without a backward: any will do.
  void make_any_pipeline();
  // What this rank gets from the stage before: room for it.
  [[nodiscard]] at::Tensor activations_of(const model::Pass& pass) const;
  // What the last unit gives: room for it.
  [[nodiscard]] at::Tensor room_for_result(const model::Pass& pass) const;
  // Whether both ends of the pipeline have a copy of the embedding's matrix.
  [[nodiscard]] bool tied_over_stages() const;
  void complete_gradients_of(model::UnitWeights& unit);
  [[nodiscard]] bool counts_in_norm(const model::WeightSpec& spec, const Stage& stage) const;
  at::Tensor forward_backward_here(std::span<const model::Pass> passes, StepTimes* times);
  at::Tensor sum_of_losses(at::Tensor loss);

  const config::RunConfig config_;
  const model::Materials materials_;
  const Ranks& ranks_;
  comm::Group losses_;
  comm::Group norms_;
  comm::Group pipeline_ranks_;
  comm::Group tensor_ranks_;
  std::unique_ptr<model::Builder> builder_;
  std::vector<std::unique_ptr<model::Decoder>> decoders_;  // parts of one, by chunk
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<Pipeline>
      pipeline_;  // with several stages, for as many micro-batches as last time
  size_t micro_batches_ = 0;
};

}  // namespace shoal::parallel

// tensor_builder.h -- a decoder whose every layer is spread over the ranks of a group: tensor
// parallelism inside attention and MLP, sequence parallelism between them.
//
//   comm::Group tp = ranks.along(plan::Axis::kTp);
//   TensorBuilder builder(tp, {.seed = 1});                           // on each rank
//   model::Decoder decoder(config.model, builder, blueprint::UnitRange::all(config.model));
//   ...                                                               // a step: executor.h
//   for (const auto& unit : decoder.units()) sum_partial_gradients(unit->weights(), tp);
//
// A batch is a list of B * T rows of D features. Two ranks, from left to right; time goes down:
//
//               rank 0                     rank 1
//   x       [ rows 0..P-1, D ]        [ rows P..2P-1, D ]        norm, dropout, residual sum
//                    \___ all-gather of rows ___/
//   up      [ all rows, H/2 ]         [ all rows, H/2 ]          weight rows 0..H/2-1 | H/2..H-1
//   down    [ all rows, D ], a term   [ all rows, D ], a term    weight columns likewise
//                    \__ reduce-scatter of rows __/
//   y       [ rows 0..P-1, D ]        [ rows P..2P-1, D ]        + bias
//
// The backward pass is the mirror image. Attention is the same with heads instead of H. Embedding
// and head split the vocabulary. No split has to be even: parts differ by at most one, and rows are
// padded (tensor_rows.h). With fewer key heads than ranks, ranks share a head (tensor_keys.h).
//
// A split weight is the parts of all ranks together. Every other weight is on every rank, with a
// gradient of this rank's rows only (tensor_gradients.h).
#pragma once

#include <memory>
#include <string>

#include "shoal/model/builder.h"
#include "shoal/parallel/tensor/tensor_rows.h"

namespace shoal::parallel {

class TensorBuilder final : public model::PlainBuilder {
 public:
  TensorBuilder(comm::Group group, const model::BuilderOptions& options)
      : PlainBuilder(options), rows_(std::move(group)) {}

  std::unique_ptr<model::Linear> linear(model::UnitWeights& unit,
                                        const model::LinearSpec& spec) override;
  std::unique_ptr<model::RowWise> norm(model::UnitWeights& unit,
                                       const model::NormSpec& spec) override;
  std::unique_ptr<model::Embedding> embedding(model::UnitWeights& unit,
                                              const model::EmbeddingSpec& spec) override;
  std::unique_ptr<model::Dropout> dropout(const std::string& name, double rate) override;
  std::unique_ptr<model::RowShare> row_share() override;
  std::unique_ptr<model::Head> head(model::UnitWeights& unit,
                                    const model::EmbeddingSpec& spec) override;
  std::unique_ptr<model::Head> tied_head(const model::Embedding& embedding) override;
  [[nodiscard]] blueprint::TensorPlace place() const override {
    return {.ranks = rows_.group().size(), .rank = rows_.group().rank()};
  }

 private:
  TensorRows rows_;
};

}  // namespace shoal::parallel

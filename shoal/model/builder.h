// builder.h -- builds the layers that a blueprint names. The blueprint says what a layer is and
// which weights it has; the builder decides how ranks compute it together and what is recomputed.
//
//   PlainBuilder builder({.recompute = Recompute::kSelective, .seed = 1});
//   Decoder decoder(config, builder, blueprint::UnitRange::all(config));
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shoal/blueprint/layers.h"
#include "shoal/config/model_config.h"
#include "shoal/config/train_config.h"
#include "shoal/model/layers.h"
#include "shoal/model/weights.h"

namespace shoal::model {

using blueprint::AttentionSpec;
using blueprint::EmbeddingSpec;
using blueprint::LinearSpec;
using blueprint::NormSpec;

class Builder {
 public:
  virtual ~Builder() = default;

  virtual std::unique_ptr<Linear> linear(UnitWeights& unit, const LinearSpec& spec) = 0;
  virtual std::unique_ptr<RowWise> norm(UnitWeights& unit, const NormSpec& spec) = 0;
  virtual std::unique_ptr<RowWise> activation(config::Activation kind) = 0;
  virtual std::unique_ptr<Embedding> embedding(UnitWeights& unit, const EmbeddingSpec& spec) = 0;
  virtual std::unique_ptr<Attention> attention(const AttentionSpec& spec) = 0;
  virtual std::unique_ptr<Dropout> dropout(const std::string& name, double rate) = 0;
  virtual std::unique_ptr<RowShare> row_share() = 0;
  // The head has a matrix of its own, or shares that of an embedding.
  virtual std::unique_ptr<Head> head(UnitWeights& unit, const EmbeddingSpec& spec) = 0;
  virtual std::unique_ptr<Head> tied_head(const Embedding& embedding) = 0;

  // Returns the tensor-parallel rank whose layers are built.
  [[nodiscard]] virtual blueprint::TensorPlace place() const = 0;
};

struct BuilderOptions {
  config::Recompute recompute = config::Recompute::kNone;
  uint64_t seed = 0;              // seed of dropout
  int64_t head_rows_at_once = 0;  // see head_loss.h
};

// Builds every layer on one rank. Subclasses override the layers that they split over ranks.
class PlainBuilder : public Builder {
 public:
  explicit PlainBuilder(BuilderOptions options) : options_(options) {}

  std::unique_ptr<Linear> linear(UnitWeights& unit, const LinearSpec& spec) override;
  std::unique_ptr<RowWise> norm(UnitWeights& unit, const NormSpec& spec) override;
  std::unique_ptr<RowWise> activation(config::Activation kind) override;
  std::unique_ptr<Embedding> embedding(UnitWeights& unit, const EmbeddingSpec& spec) override;
  std::unique_ptr<Attention> attention(const AttentionSpec& spec) override;
  std::unique_ptr<Dropout> dropout(const std::string& name, double rate) override;
  std::unique_ptr<RowShare> row_share() override;
  std::unique_ptr<Head> head(UnitWeights& unit, const EmbeddingSpec& spec) override;
  std::unique_ptr<Head> tied_head(const Embedding& embedding) override;
  [[nodiscard]] blueprint::TensorPlace place() const override { return {}; }

 protected:
  [[nodiscard]] const BuilderOptions& options() const { return options_; }

 private:
  BuilderOptions options_;
};

}  // namespace shoal::model

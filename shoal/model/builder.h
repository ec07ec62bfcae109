// builder.h -- makes the layers a decoder asks for. The decoder says what a layer is; the builder
// decides where its weights are and what is recomputed.
//
//   PlainBuilder builder({.recompute = Recompute::kSelective, .seed = 1});
//   Decoder decoder(config, builder);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/config/train_config.h"
#include "shoal/model/layers.h"
#include "shoal/model/weights.h"

namespace shoal::model {

// How ranks may share a matrix product: each some of the outputs, or each some of the inputs and then
// the sum. A kColumns followed by a kRows needs no exchange between them.
enum class Split { kNone, kColumns, kRows };

struct LinearSpec {
  std::string name;
  int64_t in = 0;
  std::vector<int64_t> out;  // sizes of what stands beside each other in the output (q, k, v): each
                             // is split by itself
  bool bias = false;
  double std = 0;
  Split split = Split::kNone;
};

struct NormSpec {
  std::string name;
  config::NormKind kind = config::NormKind::kLayer;
  int64_t width = 0;
  bool bias = false;
  double epsilon = 0;
  bool over_split = false;  // over features that a kColumns has split
};

struct EmbeddingSpec {
  std::string name;
  int64_t rows = 0;
  int64_t width = 0;
  double std = 0;
};

struct AttentionSpec {
  std::string name;
  int heads = 0;
  int kv_heads = 0;
  double dropout = 0;
};

class Builder {
 public:
  virtual ~Builder() = default;

  virtual std::unique_ptr<Linear> linear(UnitWeights& unit, const LinearSpec& spec) = 0;
  virtual std::unique_ptr<RowWise> norm(UnitWeights& unit, const NormSpec& spec) = 0;
  virtual std::unique_ptr<RowWise> activation(config::Activation kind) = 0;
  virtual std::unique_ptr<Embedding> embedding(UnitWeights& unit, const EmbeddingSpec& spec) = 0;
  virtual std::unique_ptr<Attention> attention(const AttentionSpec& spec) = 0;
  virtual std::unique_ptr<Dropout> dropout(const std::string& name, double rate) = 0;
  // With a matrix of its own, or that of an embedding.
  virtual std::unique_ptr<Head> head(UnitWeights& unit, const EmbeddingSpec& spec) = 0;
  virtual std::unique_ptr<Head> tied_head(const Embedding& embedding) = 0;

  // Of so many equal things that a kColumns splits, those of this rank.
  [[nodiscard]] virtual int local(int count) const = 0;
};

struct BuilderOptions {
  config::Recompute recompute = config::Recompute::kNone;
  uint64_t seed = 0;              // of dropout
  int64_t head_rows_at_once = 0;  // see head_loss.h
};

// Everything on one rank. Others override what they spread.
class PlainBuilder : public Builder {
 public:
  explicit PlainBuilder(BuilderOptions options) : options_(options) {}

  std::unique_ptr<Linear> linear(UnitWeights& unit, const LinearSpec& spec) override;
  std::unique_ptr<RowWise> norm(UnitWeights& unit, const NormSpec& spec) override;
  std::unique_ptr<RowWise> activation(config::Activation kind) override;
  std::unique_ptr<Embedding> embedding(UnitWeights& unit, const EmbeddingSpec& spec) override;
  std::unique_ptr<Attention> attention(const AttentionSpec& spec) override;
  std::unique_ptr<Dropout> dropout(const std::string& name, double rate) override;
  std::unique_ptr<Head> head(UnitWeights& unit, const EmbeddingSpec& spec) override;
  std::unique_ptr<Head> tied_head(const Embedding& embedding) override;
  [[nodiscard]] int local(int count) const override { return count; }

 protected:
  [[nodiscard]] const BuilderOptions& options() const { return options_; }

 private:
  BuilderOptions options_;
};

}  // namespace shoal::model

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

// Features as equal things that ranks share: heads, or single features of an MLP.
struct Features {
  int64_t count = 0;
  int64_t width = 1;      // features of each
  int64_t per_group = 1;  // so many stay on one rank while there are groups for all: queries that
                          // share keys
  bool shared = false;    // where there are fewer than ranks, several ranks need each: keys, values

  [[nodiscard]] int64_t size() const { return count * width; }
};

int64_t size_of(const std::vector<Features>& side_by_side);

struct LinearSpec {
  std::string name;
  Features in;
  std::vector<Features>
      out;  // what stands beside each other in the output (q, k, v): each is split
            // by itself
  bool bias = false;
  double std = 0;
  Split split = Split::kNone;
};

struct NormSpec {
  std::string name;
  config::NormKind kind = config::NormKind::kLayer;
  Features over;
  bool bias = false;
  double epsilon = 0;
  bool split = false;  // over features that a kColumns has split
};

struct EmbeddingSpec {
  std::string name;
  int64_t rows = 0;
  int64_t width = 0;
  double std = 0;
  bool split = false;  // ranks may share the rows
};

struct AttentionSpec {
  std::string name;
  int heads = 0;
  int kv_heads = 0;
  double dropout = 0;
};

// The heads of this rank, of all that a model has.
struct LocalHeads {
  int heads = 0;
  int kv_heads = 0;
  int first_head = 0;
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
  virtual std::unique_ptr<RowShare> row_share() = 0;
  // With a matrix of its own, or that of an embedding.
  virtual std::unique_ptr<Head> head(UnitWeights& unit, const EmbeddingSpec& spec) = 0;
  virtual std::unique_ptr<Head> tied_head(const Embedding& embedding) = 0;

  // Of what a kColumns makes of queries, keys and values.
  [[nodiscard]] virtual LocalHeads local_heads(int heads, int kv_heads) const = 0;
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
  std::unique_ptr<RowShare> row_share() override;
  std::unique_ptr<Head> head(UnitWeights& unit, const EmbeddingSpec& spec) override;
  std::unique_ptr<Head> tied_head(const Embedding& embedding) override;
  [[nodiscard]] LocalHeads local_heads(int heads, int kv_heads) const override {
    return {.heads = heads, .kv_heads = kv_heads};
  }

 protected:
  [[nodiscard]] const BuilderOptions& options() const { return options_; }

 private:
  BuilderOptions options_;
};

}  // namespace shoal::model

#include "shoal/parallel/tensor/tensor_builder.h"

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/core/random.h"
#include "shoal/model/functions/dropout.h"
#include "shoal/parallel/tensor/tensor_keys.h"
#include "shoal/parallel/tensor/tensor_linear.h"
#include "shoal/parallel/tensor/tensor_norm.h"
#include "shoal/parallel/tensor/tensor_vocabulary.h"

namespace shoal::parallel {
namespace {

using blueprint::Features;
using model::Pass;
using model::RowWise;
using model::UnitWeights;
using model::Weight;

// Heads of keys and values that several ranks need whole.
struct WholeHeads {
  Features heads;
  int64_t outputs = 0;  // 0: no head is shared
};

class ColumnLinear final : public model::Linear {
 public:
  ColumnLinear(Weight weight, Weight bias, bool again, const WholeHeads& whole, TensorRows rows)
      : weight_(weight), bias_(bias), again_(again), whole_(whole), rows_(std::move(rows)) {}

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    return product(nullptr, x, pass);
  }

  at::Tensor forward(const RowWise& before, const at::Tensor& x, const Pass& pass) override {
    return again_ ? product(&before, x, pass) : product(nullptr, before(x), pass);
  }

 private:
  at::Tensor product(const RowWise* before, const at::Tensor& x, const Pass& pass) {
    const at::Tensor y = column_product(before, x, pass.tokens.numel(), weight_, bias_, rows_);
    return whole_.outputs > 0 ? with_whole_heads(y, whole_.heads, whole_.outputs, rows_.group())
                              : y;
  }

  Weight weight_;
  Weight bias_;
  bool again_;
  WholeHeads whole_;
  TensorRows rows_;
};

class RowLinear final : public model::Linear {
 public:
  RowLinear(Weight weight, Weight bias, bool again, TensorRows rows)
      : weight_(weight), bias_(bias), again_(again), rows_(std::move(rows)) {}

  at::Tensor forward(const at::Tensor& x, const Pass& /*pass*/) override {
    return row_product(nullptr, x, weight_, bias_, rows_);
  }

  at::Tensor forward(const RowWise& before, const at::Tensor& x, const Pass& /*pass*/) override {
    return again_ ? row_product(&before, x, weight_, bias_, rows_)
                  : row_product(nullptr, before(x), weight_, bias_, rows_);
  }

 private:
  Weight weight_;
  Weight bias_;
  bool again_;
  TensorRows rows_;
};

// The mask depends on an element's place in the run, so it is the same as on one rank.
class OwnRowsDropout final : public model::Dropout {
 public:
  OwnRowsDropout(const std::string& name, double rate, uint64_t seed, TensorRows rows)
      : rate_(rate), random_(seed, RandomStream::kDropout, name), rows_(std::move(rows)) {}

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    if (!pass.training) return x;
    const auto tokens = static_cast<uint64_t>(pass.tokens.size(1));
    const auto before = static_cast<uint64_t>(rows_.first(pass.tokens.numel()));
    return model::dropout(x, rate_, random_,
                          (pass.first_row * tokens + before) * static_cast<uint64_t>(x.size(1)));
  }

 private:
  double rate_;
  Random random_;
  TensorRows rows_;
};

class OwnRows final : public model::RowShare {
 public:
  explicit OwnRows(TensorRows rows) : rows_(std::move(rows)) {}

  [[nodiscard]] at::Tensor of(const at::Tensor& each, const Pass& pass) const override {
    return rows_.own(each.expand_as(pass.tokens).reshape({-1}));
  }

 private:
  TensorRows rows_;
};

}  // namespace

std::unique_ptr<model::Linear> TensorBuilder::linear(UnitWeights& unit,
                                                     const model::LinearSpec& spec) {
  if (spec.split == blueprint::Split::kNone)
    return PlainBuilder::linear(unit, spec);  // on this rank's rows
  const Weight weight = unit.named(spec.weight());
  const Weight bias = spec.bias ? unit.named(spec.bias_name()) : Weight();
  const bool again = options().recompute == config::Recompute::kSelective;
  if (spec.split == blueprint::Split::kRows)
    return std::make_unique<RowLinear>(weight, bias, again, rows_);
  WholeHeads whole;
  for (const Features& features : spec.out) {
    const bool needed = features.gathered(place().ranks);
    SHOAL_CHECK(needed || whole.outputs == 0, "{}: shared outputs stand last", spec.name);
    if (needed) whole = {.heads = features, .outputs = whole.outputs + 1};
  }
  return std::make_unique<ColumnLinear>(weight, bias, again, whole, rows_);
}

std::unique_ptr<RowWise> TensorBuilder::norm(UnitWeights& unit, const model::NormSpec& spec) {
  if (!spec.split) return PlainBuilder::norm(unit, spec);
  SHOAL_CHECK(spec.kind == config::NormKind::kRms, "{}: only an rms norm can be split", spec.name);
  return split_rms_norm(unit.named(spec.weight()), spec.over.size(), spec.epsilon, rows_.group());
}

std::unique_ptr<model::Embedding> TensorBuilder::embedding(UnitWeights& unit,
                                                           const model::EmbeddingSpec& spec) {
  if (!spec.split) return PlainBuilder::embedding(unit, spec);
  return vocabulary_embedding(unit.named(spec.weight()), rows_);
}

std::unique_ptr<model::Dropout> TensorBuilder::dropout(const std::string& name, double rate) {
  return std::make_unique<OwnRowsDropout>(name, rate, options().seed, rows_);
}

std::unique_ptr<model::RowShare> TensorBuilder::row_share() {
  return std::make_unique<OwnRows>(rows_);
}

std::unique_ptr<model::Head> TensorBuilder::head(UnitWeights& unit,
                                                 const model::EmbeddingSpec& spec) {
  return vocabulary_head(unit.named(spec.weight()), options().head_rows_at_once, rows_);
}

std::unique_ptr<model::Head> TensorBuilder::tied_head(const model::Embedding& embedding) {
  return vocabulary_head(embedding.weight(), options().head_rows_at_once, rows_);
}

}  // namespace shoal::parallel

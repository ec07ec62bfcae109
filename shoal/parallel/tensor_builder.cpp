#include "shoal/parallel/tensor_builder.h"

#include <ATen/ATen.h>

#include "shoal/config/tensor_parallel.h"
#include "shoal/core/error.h"
#include "shoal/core/random.h"
#include "shoal/model/functions/dropout.h"
#include "shoal/parallel/tensor_keys.h"
#include "shoal/parallel/tensor_linear.h"
#include "shoal/parallel/tensor_norm.h"
#include "shoal/parallel/tensor_vocabulary.h"

namespace shoal::parallel {
namespace {

using model::Box;
using model::Features;
using model::Init;
using model::Pass;
using model::RowWise;
using model::UnitWeights;
using model::Weight;

void refuse(const std::optional<std::string>& reason) {
  if (reason) throw UsageError(*reason);
}

// Heads of keys and values that come whole to several ranks.
struct WholeHeads {
  Features heads;
  int64_t outputs = 0;  // none: nothing is shared
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

// Of elements by their place in the run, as on one rank.
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

model::LocalHeads TensorBuilder::local_heads(int heads, int kv_heads) const {
  refuse(config::why_not_split_heads(heads, kv_heads, ranks()));
  const plan::Share queries = plan::share_of_groups(heads, heads / kv_heads, ranks(), rank());
  return {.heads = static_cast<int>(queries.count),
          .kv_heads = static_cast<int>(plan::share_of_whole(kv_heads, ranks(), rank()).count),
          .first_head = static_cast<int>(queries.begin)};
}

plan::Share TensorBuilder::share_of(const Features& features) const {
  if (features.shared && features.count < ranks())
    return plan::share_of(features.size(), ranks(), rank());
  const plan::Share things =
      plan::share_of_groups(features.count, features.per_group, ranks(), rank());
  return {.begin = things.begin * features.width, .count = things.count * features.width};
}

std::vector<Box> TensorBuilder::parts_of(const std::vector<Features>& all, int64_t columns) const {
  std::vector<Box> parts;
  int64_t begin = 0;
  for (const Features& features : all) {
    const plan::Share share = share_of(features);
    parts.push_back({.first_row = begin + share.begin, .rows = share.count, .columns = columns});
    begin += features.size();
  }
  return parts;
}

std::unique_ptr<model::Linear> TensorBuilder::linear(UnitWeights& unit,
                                                     const model::LinearSpec& spec) {
  switch (spec.split) {
    case model::Split::kColumns:
      return column_linear(unit, spec);
    case model::Split::kRows:
      return row_linear(unit, spec);
    case model::Split::kNone:
      break;
  }
  return PlainBuilder::linear(unit, spec);  // of this rank's rows
}

std::unique_ptr<model::Linear> TensorBuilder::column_linear(UnitWeights& unit,
                                                            const model::LinearSpec& spec) {
  const int64_t out = model::size_of(spec.out);
  const Weight weight = unit.declare({.name = spec.name + ".weight",
                                      .shape = {out, spec.in.size()},
                                      .init = Init::normal(spec.std),
                                      .parts = parts_of(spec.out, spec.in.size())});
  const Weight bias = spec.bias ? unit.declare({.name = spec.name + ".bias",
                                                .shape = {out},
                                                .init = Init::zeros(),
                                                .parts = parts_of(spec.out, 1)})
                                : Weight();
  WholeHeads whole;
  for (const Features& features : spec.out) {
    const bool needed = features.shared && features.count < ranks();
    SHOAL_CHECK(needed || whole.outputs == 0, "{}: shared outputs stand last", spec.name);
    if (needed) whole = {.heads = features, .outputs = whole.outputs + 1};
  }
  const bool again = options().recompute == config::Recompute::kSelective;
  return std::make_unique<ColumnLinear>(weight, bias, again, whole, rows_);
}

std::unique_ptr<model::Linear> TensorBuilder::row_linear(UnitWeights& unit,
                                                         const model::LinearSpec& spec) {
  const int64_t out = model::size_of(spec.out);
  const plan::Share share = share_of(spec.in);
  const Weight weight =
      unit.declare({.name = spec.name + ".weight",
                    .shape = {out, spec.in.size()},
                    .init = Init::normal(spec.std),
                    .parts = {{.rows = out, .first_column = share.begin, .columns = share.count}}});
  const Weight bias =
      spec.bias ? unit.declare({.name = spec.name + ".bias", .shape = {out}, .init = Init::zeros()})
                : Weight();
  const bool again = options().recompute == config::Recompute::kSelective;
  return std::make_unique<RowLinear>(weight, bias, again, rows_);
}

std::unique_ptr<RowWise> TensorBuilder::norm(UnitWeights& unit, const model::NormSpec& spec) {
  if (!spec.split) return PlainBuilder::norm(unit, spec);
  SHOAL_CHECK(spec.kind == config::NormKind::kRms, "{}: only an rms norm can be split", spec.name);
  if (spec.over.shared)
    refuse(config::why_not_split_qk_norm(static_cast<int>(spec.over.count), ranks()));
  const Weight weight = unit.declare({.name = spec.name + ".weight",
                                      .shape = {spec.over.size()},
                                      .init = Init::ones(),
                                      .parts = parts_of({spec.over}, 1)});
  return split_rms_norm(weight, spec.over.size(), spec.epsilon, rows_.group());
}

std::unique_ptr<model::Embedding> TensorBuilder::embedding(UnitWeights& unit,
                                                           const model::EmbeddingSpec& spec) {
  if (!spec.split) return PlainBuilder::embedding(unit, spec);
  return vocabulary_embedding(vocabulary_matrix(unit, spec), rows_);
}

std::unique_ptr<model::Dropout> TensorBuilder::dropout(const std::string& name, double rate) {
  return std::make_unique<OwnRowsDropout>(name, rate, options().seed, rows_);
}

std::unique_ptr<model::RowShare> TensorBuilder::row_share() {
  return std::make_unique<OwnRows>(rows_);
}

std::unique_ptr<model::Head> TensorBuilder::head(UnitWeights& unit,
                                                 const model::EmbeddingSpec& spec) {
  return vocabulary_head(vocabulary_matrix(unit, spec), options().head_rows_at_once, rows_);
}

std::unique_ptr<model::Head> TensorBuilder::tied_head(const model::Embedding& embedding) {
  return vocabulary_head(embedding.weight(), options().head_rows_at_once, rows_);
}

Weight TensorBuilder::vocabulary_matrix(UnitWeights& unit, const model::EmbeddingSpec& spec) const {
  refuse(config::why_not_split_vocabulary(spec.rows, ranks()));
  return unit.declare({.name = spec.name + ".weight",
                       .shape = {spec.rows, spec.width},
                       .init = Init::normal(spec.std),
                       .parts = parts_of({Features{spec.rows}}, spec.width)});
}

}  // namespace shoal::parallel

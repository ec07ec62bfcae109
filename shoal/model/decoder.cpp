#include "shoal/model/decoder.h"

#include <cmath>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/model/block.h"
#include "shoal/model/functions/first_calls.h"
#include "shoal/model/functions/wide_type.h"

namespace shoal::model {
namespace {

using config::ModelConfig;
using config::Positions;

EmbeddingSpec token_spec(const ModelConfig& config) {
  return {.name = "embedding.tokens",
          .rows = *config.vocab_size,
          .width = config.width,
          .std = config.init_std,
          .split = true};
}

// Sines at even features, cosines at odd ones, with wavelengths from 2 pi to 10,000 * 2 pi.
at::Tensor sinusoids(int64_t length, int64_t width) {
  const at::Tensor exponents = at::arange(0, width, 2, at::kDouble) / static_cast<double>(width);
  const at::Tensor angles =
      at::outer(at::arange(length, at::kDouble), at::pow(10'000.0, exponents.neg()));
  return at::stack({angles.sin(), angles.cos()}, 2).view({length, width});
}

class EmbeddingUnit final : public Unit {
 public:
  EmbeddingUnit(const ModelConfig& config, Builder& builder)
      : Unit(config::UnitKind::kEmbedding, "embedding"),
        tokens_(builder.embedding(weights(), token_spec(config))),
        rows_(builder.row_share()),
        dropout_(builder.dropout("embedding", config.dropout)) {
    if (config.positions == Positions::kLearned) {
      positions_ = builder.embedding(weights(), {.name = "embedding.positions",
                                                 .rows = config.context,
                                                 .width = config.width,
                                                 .std = config.init_std});
    } else if (config.positions == Positions::kSinusoidal) {
      sinusoids_ = sinusoids(config.context, config.width);
    }
  }

  [[nodiscard]] const Embedding& tokens() const { return *tokens_; }

  at::Tensor forward(const at::Tensor& anchor, const Pass& pass) override {
    at::Tensor x = tokens_->forward(pass.tokens, anchor);
    if (positions_) x = x + positions_->forward(rows_->of(pass.positions, pass), anchor);
    if (sinusoids_.defined()) {
      sinusoids_ = sinusoids_.to(x.options());  // itself, after the first time
      x = x + at::embedding(sinusoids_, rows_->of(pass.positions, pass));
    }
    return dropout_->forward(x, pass);
  }

 private:
  std::unique_ptr<Embedding> tokens_;
  std::unique_ptr<RowShare> rows_;
  std::unique_ptr<Embedding> positions_;
  at::Tensor sinusoids_;
  std::unique_ptr<Dropout> dropout_;
};

class HeadUnit final : public Unit {
 public:
  // `tied`: the embedding of this decoder, or nullptr.
  HeadUnit(const ModelConfig& config, Builder& builder, const Embedding* tied)
      : Unit(config::UnitKind::kHead, "head"),
        norm_(builder.norm(weights(),
                           {.name = "head.norm",
                            .kind = config.norm,
                            .over = {config.width},
                            .bias = config.bias == config::BiasOn::kAll,
                            .epsilon = config.norm_epsilon})) {
    if (tied != nullptr) {
      head_ = builder.tied_head(*tied);
    } else {
      EmbeddingSpec spec = token_spec(config);
      if (!config.tied) spec.name = "head.scores";
      head_ = builder.head(weights(), spec);
    }
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const at::Tensor normed = (*norm_)(x);
    return pass.targets ? head_->loss(normed, *pass.targets) : head_->scores(normed, pass);
  }

 private:
  std::unique_ptr<RowWise> norm_;
  std::unique_ptr<Head> head_;
};

}  // namespace

Decoder::Decoder(const ModelConfig& config, Builder& builder)
    : Decoder(config, builder, Part::all(config)) {}

Decoder::Decoder(const ModelConfig& config, Builder& builder, const Part& part) : config_(config) {
  SHOAL_CHECK(config.vocab_size.has_value(), "model.vocab_size is not known yet");
  make_first_calls();
  const Embedding* embedding = nullptr;
  if (part.embedding) {
    auto unit = std::make_unique<EmbeddingUnit>(config, builder);
    embedding = &unit->tokens();
    units_.push_back(std::move(unit));
  }
  for (int i = 0; i < part.blocks; ++i)
    units_.push_back(make_block(config, part.first_block + i, builder));
  if (part.head)
    units_.push_back(
        std::make_unique<HeadUnit>(config, builder, config.tied ? embedding : nullptr));
  for (const auto& unit : units_) unit->weights().lay_out();
}

void Decoder::materialize(const Materials& materials) {
  for (const auto& unit : units_) unit->weights().materialize(materials);
  make_tables(materials);
}

void Decoder::make_tables(const Materials& materials) {
  if (config_.positions != Positions::kRotary) return;
  // Half precision would put late positions on top of each other.
  angles_ =
      rotary_angles(config_.rotary, config_.features_per_head(), config_.context,
                    at::TensorOptions().dtype(wide_type(materials.dtype)).device(materials.device));
}

int64_t Decoder::parameters() const {
  int64_t sum = 0;
  for (const auto& unit : units_) {
    for (size_t i = 0; i < unit->weights().size(); ++i)
      sum += unit->weights().spec(i).local_elements();
  }
  return sum;
}

void Decoder::place(Pass& pass, int64_t first) const {
  const int64_t tokens = pass.tokens.size(1);
  SHOAL_CHECK(first + tokens <= config_.context, "{} tokens from {} on, in a context of {}", tokens,
              first, config_.context);
  pass.positions = pass.documents.positions(pass.tokens.size(0), tokens, pass.tokens.device());
  const bool in_order = !pass.positions.defined();
  if (in_order) {
    pass.positions = at::arange(first, first + tokens,
                                at::TensorOptions().dtype(at::kLong).device(pass.tokens.device()));
  }
  if (!angles_.cosines.defined()) return;
  pass.angles = in_order ? Angles{angles_.cosines.narrow(0, first, tokens),
                                  angles_.sines.narrow(0, first, tokens)}
                         : angles_at(angles_, pass.positions);
}

at::Tensor Decoder::forward(const Pass& pass) const {
  at::Tensor x;
  for (const auto& unit : units_) x = unit->forward(x, pass);
  return x;
}

}  // namespace shoal::model

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

// Sines at even features, cosines at odd ones, with wavelengths from 2 pi to 10,000 * 2 pi.
at::Tensor sinusoids(int64_t length, int64_t width) {
  const at::Tensor exponents = at::arange(0, width, 2, at::kDouble) / static_cast<double>(width);
  const at::Tensor angles =
      at::outer(at::arange(length, at::kDouble), at::pow(10'000.0, exponents.neg()));
  return at::stack({angles.sin(), angles.cos()}, 2).view({length, width});
}

class EmbeddingUnit final : public Unit {
 public:
  EmbeddingUnit(const ModelConfig& config,
                const blueprint::EmbeddingLayers& layers,
                blueprint::UnitBlueprint blueprint,
                Builder& builder)
      : Unit(std::move(blueprint)),
        tokens_(builder.embedding(weights(), layers.tokens)),
        rows_(builder.row_share()),
        positions_(layers.positions ? builder.embedding(weights(), *layers.positions) : nullptr),
        dropout_(builder.dropout("embedding", config.dropout)) {
    if (config.positions == Positions::kSinusoidal)
      sinusoids_ = sinusoids(config.context, config.width);
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
  // `embedding`: the one beside it, or nullptr.
  HeadUnit(const blueprint::HeadLayers& layers,
           blueprint::UnitBlueprint blueprint,
           Builder& builder,
           const Embedding* embedding)
      : Unit(std::move(blueprint)),
        norm_(builder.norm(weights(), layers.norm)),
        head_(layers.logits ? builder.head(weights(), *layers.logits)
                            : builder.tied_head(*embedding)) {}

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const at::Tensor normed = (*norm_)(x);
    return pass.targets ? head_->loss(normed, *pass.targets) : head_->logits(normed, pass);
  }

 private:
  std::unique_ptr<RowWise> norm_;
  std::unique_ptr<Head> head_;
};

}  // namespace

int64_t num_targets(const Pass& pass) {
  const at::Tensor& counted = pass.targets->loss_mask;
  return counted.defined() ? counted.ne(0).sum().item<int64_t>() : pass.targets->classes.numel();
}

Decoder::Decoder(const ModelConfig& config,
                 Builder& builder,
                 const blueprint::UnitRange& range,
                 const MakeBlock& block)
    : config_(config) {
  make_first_calls();
  const Embedding* embedding = nullptr;
  int number = range.first_block;
  for (blueprint::UnitBlueprint& unit : blueprint::units_of(config, range, builder.place())) {
    switch (unit.kind) {
      case config::UnitKind::kEmbedding: {
        auto made = std::make_unique<EmbeddingUnit>(config, blueprint::embedding_layers(config),
                                                    std::move(unit), builder);
        embedding = &made->tokens();
        units_.push_back(std::move(made));
        break;
      }
      case config::UnitKind::kBlock:
        units_.push_back(block(config, number++, std::move(unit), builder));
        break;
      case config::UnitKind::kHead:
        units_.push_back(
            std::make_unique<HeadUnit>(blueprint::head_layers(config, embedding != nullptr),
                                       std::move(unit), builder, embedding));
        break;
    }
  }
}

void Decoder::make_tables(const Materials& materials) {
  if (config_.positions != Positions::kRotary) return;
  // Half precision would put late positions on top of each other.
  angles_ =
      rotary_angles(config_.rotary, config_.features_per_head(), config_.context,
                    at::TensorOptions().dtype(wide_type(materials.dtype)).device(materials.device));
}

void Decoder::place(Pass& pass) const {
  const int64_t first = pass.cache != nullptr ? pass.cache->length : 0;
  const int64_t tokens = pass.tokens.size(1);
  SHOAL_CHECK(first + tokens <= config_.context, "{} tokens from {} on, in a context of {}", tokens,
              first, config_.context);
  pass.documents.place(pass.tokens.device());
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

}  // namespace shoal::model

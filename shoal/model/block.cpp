#include "shoal/model/block.h"

#include <ATen/ATen.h>

#include "shoal/core/format.h"

namespace shoal::model {
namespace {

using blueprint::BlockLayers;
using config::ModelConfig;
using config::NormPlace;
using config::QkNorm;

// Shapes: B batch, T tokens, N query heads, K key/value heads, H features of a head; heads
// are those of this rank.
class SelfAttention {
 public:
  SelfAttention(const ModelConfig& config,
                const BlockLayers& layers,
                int number,
                UnitWeights& unit,
                Builder& builder)
      : number_(static_cast<size_t>(number)),
        local_(blueprint::local_heads(config.heads, config.num_kv_heads(), builder.place())),
        head_width_(config.features_per_head()),
        qk_norm_(config.qk_norm),
        qkv_(builder.linear(unit, layers.qkv)),
        out_(builder.linear(unit, layers.out)),
        q_norm_(layers.q_norm ? builder.norm(unit, *layers.q_norm) : nullptr),
        k_norm_(layers.k_norm ? builder.norm(unit, *layers.k_norm) : nullptr),
        attention_(builder.attention(layers.attention)) {}

  at::Tensor forward(const RowWise* norm, const at::Tensor& x, const Pass& pass) {
    const int64_t q = local_.heads * head_width_;
    const int64_t kv = local_.kv_heads * head_width_;
    const at::Tensor qkv = norm != nullptr ? qkv_->forward(*norm, x, pass) : qkv_->forward(x, pass);
    const std::vector<at::Tensor> parts = qkv.split_with_sizes({q, kv, kv}, -1);
    const at::Tensor q_BNTH = placed(parts[0], local_.heads, q_norm_.get(), pass);
    const at::Tensor k_BKTH = placed(parts[1], local_.kv_heads, k_norm_.get(), pass);
    const at::Tensor v_BKTH = by_head(parts[2], local_.kv_heads, pass).transpose(1, 2);
    const at::Tensor y_BNTH = pass.cache != nullptr
                                  ? attend_with_cache(q_BNTH, k_BKTH, v_BKTH, pass)
                                  : attention_->forward(q_BNTH, k_BKTH, v_BKTH, pass);
    const at::Tensor y_BTNH = y_BNTH.transpose(1, 2);
    return out_->forward(y_BTNH.reshape({y_BTNH.size(0), y_BTNH.size(1), q}), pass);
  }

 private:
  [[nodiscard]] at::Tensor by_head(const at::Tensor& x, int64_t heads, const Pass& pass) const {
    return x.view({pass.tokens.size(0), pass.tokens.size(1), heads, head_width_});
  }

  // Queries or keys, normalized and turned by their positions as the model asks.
  [[nodiscard]] at::Tensor placed(const at::Tensor& x,
                                  int64_t heads,
                                  const RowWise* norm,
                                  const Pass& pass) const {
    at::Tensor x_BTNH =
        by_head(qk_norm_ == QkNorm::kWidth ? (*norm)(x.contiguous()) : x, heads, pass);
    if (qk_norm_ == QkNorm::kHead) x_BTNH = (*norm)(x_BTNH.contiguous());
    if (pass.angles.cosines.defined()) x_BTNH = rotate(x_BTNH, pass.angles);
    return x_BTNH.transpose(1, 2);
  }

  // Several tokens may come at first, later one at a time.
  at::Tensor attend_with_cache(const at::Tensor& q,
                               const at::Tensor& k,
                               const at::Tensor& v,
                               const Pass& pass) const {
    KeyValueCache& cache = *pass.cache;
    KeyValueCache::Layer& layer = cache.layers[number_];
    if (!layer.keys.defined()) {
      layer.keys = at::empty({k.size(0), k.size(1), cache.capacity, k.size(3)}, k.options());
      layer.values = at::empty_like(layer.keys);
    }
    layer.keys.narrow(2, cache.length, k.size(2)).copy_(k);
    layer.values.narrow(2, cache.length, v.size(2)).copy_(v);
    const int64_t total = cache.length + k.size(2);
    return attend(q, layer.keys.narrow(2, 0, total), layer.values.narrow(2, 0, total), {},
                  /*causal=*/k.size(2) > 1)
        .output;
  }

  size_t number_;
  blueprint::LocalHeads local_;
  int64_t head_width_;
  QkNorm qk_norm_;
  std::unique_ptr<Linear> qkv_;
  std::unique_ptr<Linear> out_;
  std::unique_ptr<RowWise> q_norm_;
  std::unique_ptr<RowWise> k_norm_;
  std::unique_ptr<Attention> attention_;
};

class Mlp {
 public:
  Mlp(const ModelConfig& config, const BlockLayers& layers, UnitWeights& unit, Builder& builder)
      : activation_(builder.activation(config.activation)),
        up_(builder.linear(unit, layers.up)),
        down_(builder.linear(unit, layers.down)) {}

  at::Tensor forward(const RowWise* norm, const at::Tensor& x, const Pass& pass) {
    const at::Tensor up = norm != nullptr ? up_->forward(*norm, x, pass) : up_->forward(x, pass);
    return down_->forward(*activation_, up, pass);
  }

 private:
  std::unique_ptr<RowWise> activation_;
  std::unique_ptr<Linear> up_;
  std::unique_ptr<Linear> down_;
};

class Block final : public Unit {
 public:
  Block(const ModelConfig& config,
        const BlockLayers& layers,
        int number,
        blueprint::UnitBlueprint blueprint,
        Builder& builder)
      : Unit(std::move(blueprint)),
        norm_before_(config.norm_place == NormPlace::kBefore),
        attention_norm_(builder.norm(weights(), layers.attention_norm)),
        attention_(config, layers, number, weights(), builder),
        attention_dropout_(builder.dropout(format("blocks.{}.attention", number), config.dropout)),
        mlp_norm_(builder.norm(weights(), layers.mlp_norm)),
        mlp_(config, layers, weights(), builder),
        mlp_dropout_(builder.dropout(format("blocks.{}.mlp", number), config.dropout)) {}

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const at::Tensor y = x + finished(attention_.forward(before(attention_norm_), x, pass),
                                      attention_norm_, *attention_dropout_, pass);
    return y + finished(mlp_.forward(before(mlp_norm_), y, pass), mlp_norm_, *mlp_dropout_, pass);
  }

 private:
  [[nodiscard]] const RowWise* before(const std::unique_ptr<RowWise>& norm) const {
    return norm_before_ ? norm.get() : nullptr;
  }

  [[nodiscard]] at::Tensor finished(const at::Tensor& y,
                                    const std::unique_ptr<RowWise>& norm,
                                    Dropout& dropout,
                                    const Pass& pass) const {
    return dropout.forward(norm_before_ ? y : (*norm)(y), pass);
  }

  bool norm_before_;
  std::unique_ptr<RowWise> attention_norm_;
  SelfAttention attention_;
  std::unique_ptr<Dropout> attention_dropout_;
  std::unique_ptr<RowWise> mlp_norm_;
  Mlp mlp_;
  std::unique_ptr<Dropout> mlp_dropout_;
};

}  // namespace

std::unique_ptr<Unit> make_block(const ModelConfig& config,
                                 int number,
                                 blueprint::UnitBlueprint blueprint,
                                 Builder& builder) {
  return std::make_unique<Block>(config, blueprint::block_layers(config, number), number,
                                 std::move(blueprint), builder);
}

}  // namespace shoal::model

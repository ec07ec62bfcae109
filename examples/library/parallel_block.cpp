#include "parallel_block.h"

#include <ATen/ATen.h>

namespace {

using namespace shoal;

// The builder makes the layers, so this runs on every layout: with tensor parallelism a rank has some of the heads.
class ParallelBlock final : public model::Unit {
 public:
  ParallelBlock(const config::ModelConfig& config,
                const blueprint::BlockLayers& layers,
                blueprint::UnitBlueprint blueprint,
                model::Builder& builder)
      : Unit(std::move(blueprint)),
        heads_(blueprint::local_heads(config.heads, config.num_kv_heads(), builder.place())),
        features_(config.features_per_head()),
        attention_norm_(builder.norm(weights(), layers.attention_norm)),
        qkv_(builder.linear(weights(), layers.qkv)),
        attention_(builder.attention(layers.attention)),
        out_(builder.linear(weights(), layers.out)),
        mlp_norm_(builder.norm(weights(), layers.mlp_norm)),
        up_(builder.linear(weights(), layers.up)),
        activation_(builder.activation(config.activation)),
        down_(builder.linear(weights(), layers.down)) {}

  at::Tensor forward(const at::Tensor& x, const model::Pass& pass) override {
    const at::Tensor mlp = down_->forward(*activation_, up_->forward(*mlp_norm_, x, pass), pass);
    return x + attend(x, pass) + mlp;
  }

 private:
  at::Tensor attend(const at::Tensor& x, const model::Pass& pass) {
    const int64_t q = heads_.heads * features_;
    const int64_t kv = heads_.kv_heads * features_;
    const auto parts = qkv_->forward(*attention_norm_, x, pass).split_with_sizes({q, kv, kv}, -1);
    const at::Tensor y = attention_->forward(by_head(parts[0], pass), by_head(parts[1], pass),
                                             by_head(parts[2], pass), pass);
    return out_->forward(y.transpose(1, 2).reshape({pass.tokens.size(0), pass.tokens.size(1), q}),
                         pass);
  }

  // batch x heads x tokens x features
  [[nodiscard]] at::Tensor by_head(const at::Tensor& x, const model::Pass& pass) const {
    return x.view({pass.tokens.size(0), pass.tokens.size(1), -1, features_}).transpose(1, 2);
  }

  blueprint::LocalHeads heads_;
  int64_t features_;
  std::unique_ptr<model::RowWise> attention_norm_;
  std::unique_ptr<model::Linear> qkv_;
  std::unique_ptr<model::Attention> attention_;
  std::unique_ptr<model::Linear> out_;
  std::unique_ptr<model::RowWise> mlp_norm_;
  std::unique_ptr<model::Linear> up_;
  std::unique_ptr<model::RowWise> activation_;
  std::unique_ptr<model::Linear> down_;
};

}  // namespace

std::unique_ptr<model::Unit> make_parallel_block(const config::ModelConfig& config,
                                                 int number,
                                                 blueprint::UnitBlueprint blueprint,
                                                 model::Builder& builder) {
  return std::make_unique<ParallelBlock>(config, blueprint::block_layers(config, number),
                                         std::move(blueprint), builder);
}

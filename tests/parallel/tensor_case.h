// tensor_case.h -- small models of every family, on one rank and on tensor-parallel ranks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/model/functions/wide_type.h"
#include "shoal/parallel/parallel_model.h"

#include "tests/model/step_result.h"
#include "tests/support/run_ranks.h"

namespace shoal::tests {

// Hidden width and vocabulary are prime, heads do not divide evenly.
inline config::ModelConfig tensor_config(const std::string& family) {
  config::ModelConfig config;
  config.layers = 2;
  config.width = 20;
  config.heads = 5;
  config.hidden = 37;
  config.context = 31;
  config.vocab_size = 61;
  config.init_std = 0.2;
  config.norm_epsilon = 1e-3;
  if (family == "gpt2") return config;
  if (family == "gpt") {
    config.positions = config::Positions::kSinusoidal;
    return config;
  }
  config.heads = 10;
  config.kv_heads = 5;
  config.head_width = 6;
  config.positions = config::Positions::kRotary;
  config.norm = config::NormKind::kRms;
  config.activation = config::Activation::kSwiglu;
  config.tied = false;
  config.bias = family == "qwen2" ? config::BiasOn::kQkv : config::BiasOn::kNone;
  if (family == "qwen3") config.qk_norm = config::QkNorm::kHead;
  if (family == "olmo2") {
    config.qk_norm = config::QkNorm::kWidth;
    config.norm_place = config::NormPlace::kAfter;
  }
  return config;
}

inline config::ModelConfig with_heads(config::ModelConfig config,
                                      int heads,
                                      int kv_heads,
                                      int64_t head_width) {
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_width = head_width;
  return config;
}

// The same model on one rank, and over all ranks of a world.
class TensorPair {
 public:
  TensorPair(comm::World& world, const config::RunConfig& config, at::ScalarType type = at::kDouble)
      : materials_{.dtype = type, .gradient_dtype = model::wide_type(type), .seed = 23},
        alone_(parallel::Ranks::alone(world)),
        ranks_(world, over(config, world.size())),
        whole(config, alone_, materials_),
        split(over(config, world.size()), ranks_, materials_) {}

  [[nodiscard]] comm::Group group() const { return ranks_.along(plan::Axis::kTp); }

  // Norms and biases of ones and zeros would hide mistakes.
  void perturb_vectors() {
    const at::NoGradGuard no_grad;
    whole.set_masters([&] {
      for (const plan::Holding& holding : whole.holdings()) {
        if (holding.weight->is_matrix()) continue;
        whole.masters()[holding.group]
            .narrow(0, holding.offset, holding.count)
            .add_(random_numbers(holding.weight->name, holding.weight->shape), 0.3);
      }
    });
    const std::map<std::string, at::Tensor> weights = tensors_of(whole, /*gradients=*/false);
    split.set_masters([&] {
      for (const plan::Holding& holding : split.holdings())
        split.masters()[holding.group]
            .narrow(0, holding.offset, holding.count)
            .copy_(parallel::part_of(weights.at(holding.weight->name), holding));
    });
  }

 private:
  static config::RunConfig over(config::RunConfig config, int ranks) {
    config.parallel.tp = ranks;
    return config;
  }

  model::Materials materials_;
  parallel::Ranks alone_;
  parallel::Ranks ranks_;

 public:
  parallel::ParallelModel whole;
  parallel::ParallelModel split;
};

// Runs `body` on so many ranks.
inline void run_tensor_ranks(int ranks, const std::function<void(comm::World&)>& body) {
  run_ranks(ranks, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
    body(*world);
    world->leave();
  });
}

}  // namespace shoal::tests

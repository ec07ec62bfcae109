// tensor_case.h -- small models of every family, one rank's decoder beside a tensor-parallel one, and
// what a rank has of a logical tensor.
#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/parallel/tensor_builder.h"
#include "shoal/parallel/tensor_gradients.h"

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

// What a rank with `spec` has of a logical tensor.
inline at::Tensor cut(const at::Tensor& whole, const model::WeightSpec& spec) {
  std::vector<at::Tensor> parts;
  for (const Box& box : spec.parts) parts.push_back(model::in_box(whole, box));
  return at::cat(parts);
}

// Every weight of a decoder, in its order.
inline std::vector<model::Weight> weights_of(const model::Decoder& decoder) {
  std::vector<model::Weight> all;
  for (const auto& unit : decoder.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i) all.emplace_back(&unit->weights(), i);
  }
  return all;
}

// The same model twice.
struct TensorPair {
  TensorPair(const config::ModelConfig& config,
             const model::BuilderOptions& options,
             const comm::Group& group,
             at::ScalarType type = at::kDouble)
      : plain(options), tensor(group, options), whole(config, plain), split(config, tensor) {
    const model::Materials materials{
        .dtype = type,
        .gradient_dtype = type == at::kDouble ? at::kDouble : at::kFloat,
        .seed = 23};
    whole.materialize(materials);
    split.materialize(materials);
  }

  // Ones and zeros would hide a mistake in norms and biases.
  void perturb_vectors() {
    const std::vector<model::Weight> all = weights_of(whole);
    const std::vector<model::Weight> mine = weights_of(split);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].value().dim() != 1) continue;
      all[i].value().add_(random_numbers(all[i].spec().name, all[i].value().sizes()), 0.3);
      mine[i].value().copy_(cut(all[i].value(), mine[i].spec()));
    }
  }

  model::PlainBuilder plain;
  parallel::TensorBuilder tensor;
  model::Decoder whole;
  model::Decoder split;
};

// A step with the partial gradients added up.
inline StepResult tensor_step(model::Decoder& decoder,
                              const std::vector<model::Pass>& passes,
                              config::Recompute recompute,
                              comm::Group& group) {
  StepResult result = step_over(decoder, passes, recompute);
  for (const auto& unit : decoder.units()) parallel::sum_partial_gradients(unit->weights(), group);
  result.gradients = gradients_of(decoder);
  return result;
}

// Runs `body` on so many ranks with a group of all of them.
inline void run_tensor_ranks(int ranks, const std::function<void(comm::Group&)>& body) {
  run_ranks(ranks, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
    {
      std::vector<int> all(static_cast<size_t>(ranks));
      std::iota(all.begin(), all.end(), 0);
      comm::Group group = world->group("tp", all);
      body(group);
    }
    world->leave();
  });
}

}  // namespace shoal::tests

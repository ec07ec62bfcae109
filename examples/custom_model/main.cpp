// custom_model -- a model and a training loop of one's own on shoal's parts: a small Llama that learns to
// count upwards modulo 13, in double precision. Alone, or on any number of ranks with the same result:
//
//   build/release/examples/custom_model
//   shoal launch --ranks 3 -- build/release/examples/custom_model

#include <exception>
#include <iostream>

#include <ATen/ATen.h>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/parallel_model.h"

namespace {

constexpr uint64_t kRows = 8;
constexpr int64_t kLength = 12;
constexpr int64_t kNumbers = 13;

shoal::config::RunConfig small_llama() {
  using namespace shoal::config;
  RunConfig config;
  ModelConfig& model = config.model;
  model.layers = 2, model.width = 32, model.heads = 4, model.kv_heads = 2, model.hidden = 48;
  model.context = kLength, model.vocab_size = kNumbers, model.tied = false;
  model.positions = Positions::kRotary, model.norm = NormKind::kRms;
  model.activation = Activation::kSwiglu, model.bias = BiasOn::kNone;
  config.train.recompute = Recompute::kSelective;
  return config;
}

// Rows [begin, end) of a step, which count from different numbers, each with its targets.
shoal::model::Pass counting(int64_t begin, int64_t end) {
  const at::Tensor start = at::arange(begin, end).unsqueeze(1);
  const at::Tensor numbers = (start + at::arange(kLength + 1)).remainder(kNumbers);
  shoal::model::Pass pass{.tokens = numbers.narrow(1, 0, kLength).contiguous(), .training = true};
  pass.targets = {.classes = numbers.narrow(1, 1, kLength).reshape({-1})};
  return pass;
}

void learn(shoal::comm::World& world) {
  using namespace shoal;
  const config::RunConfig config = small_llama();
  const parallel::Ranks ranks(world, config);
  parallel::ParallelModel model(config, ranks,
                                {.dtype = at::kDouble, .gradient_dtype = at::kDouble, .seed = 1});
  const auto rank = static_cast<uint64_t>(world.rank());
  const auto size = static_cast<uint64_t>(world.size());
  const auto begin = static_cast<int64_t>(even_part_begin(kRows, rank, size));
  const auto end = static_cast<int64_t>(even_part_begin(kRows, rank + 1, size));
  for (int step = 0; step <= 100; ++step) {
    const model::Pass pass = counting(step + begin, step + end);
    const at::Tensor loss = model.forward_backward({&pass, 1}, {.lr = 1e-2});
    model.update();
    if (step % 50 == 0 && world.rank() == 0)
      std::cout << "step " << step << ", loss " << loss.item<double>() << "\n";
  }
}

}  // namespace

int main() try {
  const auto environment = shoal::cluster::Environment::of_this_process();
  const auto world =
      shoal::comm::World::join(shoal::cluster::detect_membership(environment), environment, {});
  learn(*world);
  world->leave();
  return 0;
} catch (const shoal::Error& error) {
  std::cerr << "custom_model: " << error.what() << "\n";
  return static_cast<int>(error.exit_code());
}

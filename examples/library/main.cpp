// counting -- shoal as a library: a model with blocks of one's own, data of one's own, a learning-rate schedule of one's own,
// in a training loop of one's own, on any layout.
//
//   counting                                              # learns to count upwards modulo 13
//   shoal launch --ranks 4 -- counting parallel.tp=2      # the same on four ranks; arguments are keys of a config
//   shoal launch --ranks 4 -- counting --verify parallel.tp=2    # shows that this layout trains like one rank

#include <cmath>
#include <iostream>
#include <numbers>

#include <ATen/ATen.h>
#include <shoal/shoal.h>

#include "parallel_block.h"

namespace {

using namespace shoal;

constexpr int64_t kSteps = 100;
constexpr int64_t kNumbers = 13;

config::RunConfig config_of(std::vector<std::string> sets, const cluster::Membership& me) {
  for (const char* const set :
       {"model.layers=3", "model.width=30", "model.heads=5", "model.context=12",
        "model.vocab_size=13", "train.batch=10", "train.micro_batch=2", "train.precision=fp64",
        "optimizer.warmup=0"})
    sets.insert(sets.begin(), set);  // what a user sets comes later, and wins
  return config::load_or_throw(
      {.sets = sets, .job = config::JobSize{me.world_size, me.local_size}});
}

// The data: samples that count from different numbers. Any rank can make any of them.
feed::TokenBatch counting(int64_t first, int64_t rows, int64_t length) {
  const at::Tensor starts = at::arange(first, first + rows).unsqueeze(1);
  return {.first_sample = static_cast<uint64_t>(first),
          .first_row = static_cast<uint64_t>(first),
          .tokens = (starts + at::arange(length + 1)).remainder(kNumbers).to(at::kInt),
          .loss_mask = {},
          .document_lengths = {}};
}

// The schedule: half a cosine wave.
double learning_rate(int64_t step) {
  return 1e-2 * 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / kSteps));
}

void learn_to_count(comm::World& world, const config::RunConfig& config) {
  const parallel::Ranks ranks(world, config);
  parallel::ParallelModel model(
      config, ranks, model::materials_of(config.train.precision, ranks.device(), config.run.seed),
      make_parallel_block);
  const auto batch = static_cast<uint64_t>(config.train.batch);
  const auto place = static_cast<uint64_t>(ranks.position(parallel::kDataAxes));
  const auto places = static_cast<uint64_t>(ranks.size(parallel::kDataAxes));
  const auto first = static_cast<int64_t>(even_part_begin(batch, place, places));
  const auto rows = static_cast<int64_t>(even_part_begin(batch, place + 1, places)) - first;
  const int64_t passes = plan::passes_of_step(config.train.batch, static_cast<int64_t>(places),
                                              config.train.micro_batch);
  for (int64_t step = 0; step <= kSteps; ++step) {
    const feed::TokenBatch tokens =
        counting(step * config.train.batch + first, rows, config.model.context);
    const at::Tensor loss = model.forward_backward(
        feed::micro_batches_of(tokens, {.passes = passes}), {.lr = learning_rate(step)});
    model.update();
    if (step % 50 == 0 && world.rank() == 0)
      std::cout << "step " << step << ", loss " << loss.item<double>() << "\n";
  }
}

// Returns whether the layout trains like one rank.
bool verify_layout(comm::World& world, const config::RunConfig& config) {
  const verify::Agreement found =
      verify::compare_with_one_rank(config, world, {.block = make_parallel_block});
  const std::vector<std::string> outside =
      verify::outside(found, verify::tolerance_of(config, found));
  if (world.rank() == 0)
    std::cout << (outside.empty() ? "trains like one rank" : outside.front())
              << ": gradients differ by " << found.worst().gradient << ", weights by "
              << found.worst().weight << "\n";
  return outside.empty();
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool verifies = !words.empty() && words.front() == "--verify";
  if (verifies) words.erase(words.begin());
  const auto environment = cluster::Environment::of_this_process();
  const cluster::Membership me = cluster::detect_membership(environment);
  const config::RunConfig config = config_of(words, me);
  const auto world = comm::World::join(me, environment, comm::world_options(config));
  bool right = true;
  if (verifies)
    right = verify_layout(*world, config);
  else
    learn_to_count(*world, config);
  world->leave();
  return right ? 0 : 1;
} catch (const Error& error) {
  std::cerr << "counting: " << error.what() << "\n";
  return static_cast<int>(error.exit_code());  // a launcher starts a rank again that lost its peers
} catch (const std::exception& error) {
  std::cerr << "counting: " << error.what() << "\n";
  return static_cast<int>(ExitCode::kBug);
}

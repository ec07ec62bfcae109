// A pipeline of real ranks takes as long as the simulator says: its stages are padded to the same times,
// so that what is measured is the order of things and not this machine.

#include <algorithm>
#include <cstdio>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/core/units.h"
#include "shoal/parallel/pipeline.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/stages.h"

#include "tests/support/random_tensors.h"
#include "tests/support/run_ranks.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kRanks = 4;
constexpr int kMicroBatches = 7;
constexpr int kRounds = 5;
// Of a rank: with several chunks each has its share.
constexpr double kForward = 0.04;
constexpr double kBackward = 0.08;

// Rests until its time is over, as if it had computed all along.
class PaddedStage final : public Stage {
 public:
  PaddedStage(const model::Decoder& decoder, int chunks)
      : Stage(decoder, {}, {}, {.backward_follows = false}), chunks_(chunks) {}

  at::Tensor forward(const at::Tensor& x, const model::Pass& pass, Kept& kept) override {
    const auto end = end_of(kForward);
    at::Tensor y = Stage::forward(x, pass, kept);
    std::this_thread::sleep_until(end);
    return y;
  }

  at::Tensor backward(Kept& kept, const at::Tensor& gradient, bool last_micro_batch) override {
    const auto end = end_of(kBackward);
    at::Tensor dx = Stage::backward(kept, gradient, last_micro_batch);
    std::this_thread::sleep_until(end);
    return dx;
  }

 private:
  [[nodiscard]] Clock::time_point end_of(double seconds) const {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(seconds / chunks_));
  }

  int chunks_;
};

config::ModelConfig tiny_model() {
  config::ModelConfig config;
  config.layers = 9;
  config.width = 12;
  config.heads = 3;
  config.context = 5;
  config.vocab_size = 17;
  config.tied = false;
  return config;
}

double seconds(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Seconds from the first rank's start to the last rank's end.
double time_of_step(Pipeline& pipeline, std::span<const model::Pass> passes, comm::World& world) {
  world.control().barrier("start of a step");
  const double began = seconds(Clock::now());
  pipeline.forward_backward(passes, nullptr);
  const at::Tensor times = at::tensor({-began, seconds(Clock::now())}, at::kDouble);
  world.control().all_reduce(times, comm::Reduce::kMax, "ends of a step");
  return times[1].item<double>() + times[0].item<double>();
}

double shortest_time_on_ranks(const plan::Schedule& schedule, comm::World& world) {
  const config::ModelConfig config = tiny_model();
  model::PlainBuilder builder({});
  std::vector<std::unique_ptr<model::Decoder>> decoders;
  std::vector<std::unique_ptr<PaddedStage>> stages;
  std::vector<Stage*> pointers;
  const std::vector<blueprint::UnitRange> cut =
      plan::cut_into_stages(config.layers, schedule.stages());
  for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
    const auto stage = static_cast<size_t>(schedule.stage_of(world.rank(), chunk));
    decoders.push_back(std::make_unique<model::Decoder>(config, builder, cut[stage]));
    decoders.back()->materialize({});
    stages.push_back(std::make_unique<PaddedStage>(*decoders.back(), schedule.chunks()));
    pointers.push_back(stages.back().get());
  }
  model::Pass pass{.tokens = tests::random_classes("tokens", {1, 5}, 17)};
  pass.targets = {.classes = tests::random_classes("targets", {5}, 17)};
  decoders.front()->place(pass);
  const std::vector<model::Pass> passes(kMicroBatches, pass);
  Pipeline pipeline(world.group("pp", {0, 1, 2, 3}), schedule, pointers, [&](const model::Pass&) {
    return at::empty({1, 5, config.width}, at::kFloat);
  });
  std::vector<double> times;
  for (int round = 0; round <= kRounds; ++round) {
    for (const auto& decoder : decoders) {
      for (const auto& unit : decoder->units()) unit->weights().open_gradients();
    }
    times.push_back(time_of_step(pipeline, passes, world));
  }
  // Others may have had the machine in between; connections are made in the first.
  return *std::min_element(times.begin() + 1, times.end());
}

TEST(Bubble, IsAsLongAsTheSimulatorSays) {
  tests::run_ranks(
      kRanks,
      [](const cluster::Membership& me, const cluster::Environment& environment) {
        const auto world = comm::World::join(
            me, environment,
            {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
        for (const char* name : {"gpipe", "1f1b", "interleaved"}) {
          const int chunks = name == std::string("interleaved") ? 2 : 1;
          const plan::Schedule schedule = plan::make_schedule(
              name, {.ranks = kRanks, .chunks = chunks, .micro_batches = kMicroBatches});
          const plan::Simulation expected = simulate(
              schedule, even_times(schedule, {.forward = kForward, .backward = kBackward}));
          const double found = shortest_time_on_ranks(schedule, *world);
          const double busy = kMicroBatches * (kForward + kBackward);
          const double bubble = 1 - busy / found;
          if (me.rank == 0)
            std::printf("%s: %.0f ms, simulated %.0f ms; bubble %.3f, simulated %.3f\n", name,
                        1e3 * found, 1e3 * expected.seconds, bubble, expected.idle_share);
          std::fflush(stdout);
          EXPECT_NEAR(bubble, expected.idle_share, 0.1 * expected.idle_share) << name;
        }
        world->leave();
      },
      {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

}  // namespace
}  // namespace shoal::parallel

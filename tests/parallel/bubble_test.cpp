// A pipeline of real ranks takes as long as the simulator says: its stages are padded to fixed
// times, so that the schedule is measured and not this machine.

#include <algorithm>
#include <cstdio>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/core/quantities.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/plan/schedule_simulation.h"

#include "tests/support/random_tensors.h"
#include "tests/support/run_ranks.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kRanks = 4;
constexpr int kMicroBatches = 7;
constexpr int kMostRounds = 40;
// Seconds of a rank's pass: with several chunks, each takes its share.
constexpr double kForward = 0.04;
constexpr double kBackward = 0.08;

// Sleeps after the last unit of an action until its time is over, as if it had computed.
class Padding final : public OperationListener {
 public:
  explicit Padding(const plan::RankPlan& plan) : plan_(plan) {}

  void before(const plan::Operation& operation) override {
    if (is_at(operation, /*first=*/true)) began_ = Clock::now();
  }

  void after(const plan::Operation& operation) override {
    if (!is_at(operation, /*first=*/false)) return;
    const double seconds = operation.pass == plan::Op::kForward ? kForward : kBackward;
    std::this_thread::sleep_until(
        began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                     seconds / static_cast<double>(plan_.stages.size()))));
  }

 private:
  // Returns whether it runs the first, or the last, unit of its action.
  [[nodiscard]] bool is_at(const plan::Operation& operation, bool first) const {
    if (!plan::computes(operation.kind)) return false;
    const bool forward = operation.pass == plan::Op::kForward;
    const size_t last = plan_.stage(operation.chunk).units.size() - 1;
    return static_cast<size_t>(operation.index) == (forward == first ? 0 : last);
  }

  const plan::RankPlan& plan_;
  Clock::time_point began_;
};

config::RunConfig tiny_run(const char* schedule, int chunks) {
  return config::load_or_throw(
      {.sets = {"model.layers=9", "model.width=12", "model.heads=3", "model.context=5",
                "model.vocab_size=17", "model.tied=false", format("parallel.pp={}", kRanks),
                format("parallel.schedule={}", schedule), format("parallel.chunks={}", chunks),
                format("train.batch={}", kMicroBatches), "train.micro_batch=1"},
       .job = config::JobSize{.ranks = kRanks}});
}

double seconds(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Returns the seconds from the first rank's start to the last rank's end.
double time_of_step(ParallelModel& model,
                    std::span<const model::Pass> passes,
                    Padding& padding,
                    comm::World& world) {
  world.control().barrier("start of a step");
  const double began = seconds(Clock::now());
  model.forward_backward(passes, {.listener = &padding});
  const at::Tensor times = at::tensor({-began, seconds(Clock::now())}, at::kDouble);
  world.control().all_reduce(times, comm::Reduce::kMax, "ends of a step");
  return times[1].item<double>() + times[0].item<double>();
}

// Returns the shortest time of a step. Load makes a step longer and never shorter, so that rounds
// are added until one is as short as `long_enough`; a wrong schedule has no such round.
double shortest_time_on_ranks(const config::RunConfig& config,
                              double long_enough,
                              comm::World& world) {
  const Ranks ranks(world, config);
  ParallelModel model(config, ranks, {});
  const plan::RankPlan plan = plan::plan_of(config, ranks.mesh(), ranks.rank());
  Padding padding(plan);
  model::Pass pass{.tokens = tests::random_classes("tokens", {1, 5}, 17)};
  pass.targets = {.classes = tests::random_classes("targets", {5}, 17)};
  const std::vector<model::Pass> passes(kMicroBatches, pass);
  double shortest = time_of_step(model, passes, padding, world);  // this round makes connections
  for (int round = 0; round < kMostRounds && (round < 2 || shortest > long_enough); ++round)
    shortest = std::min(shortest, time_of_step(model, passes, padding, world));
  return shortest;
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
          const double busy = kMicroBatches * (kForward + kBackward);
          const double tolerance = 0.1 * expected.idle_share;
          const double found = shortest_time_on_ranks(
              tiny_run(name, chunks), busy / (1 - expected.idle_share - tolerance), *world);
          const double bubble = 1 - busy / found;
          if (me.rank == 0)
            std::printf("%s: %.0f ms, simulated %.0f ms; bubble %.3f, simulated %.3f\n", name,
                        1e3 * found, 1e3 * expected.seconds, bubble, expected.idle_share);
          std::fflush(stdout);
          EXPECT_NEAR(bubble, expected.idle_share, tolerance) << name;
        }
        world->leave();
      },
      {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

}  // namespace
}  // namespace shoal::parallel

// A pipeline of real ranks takes as long as the simulator says, in virtual time: each rank has a clock
// that passes of fixed length move forward, and each transfer carries the time of its sender.

#include <algorithm>
#include <cstdio>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/plan/schedule_simulation.h"

#include "tests/support/random_tensors.h"
#include "tests/support/run_ranks.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kStages = 4;
constexpr int kMicroBatches = 7;
// Seconds of a rank's pass: with several chunks, each takes its share.
constexpr double kForward = 1;
constexpr double kBackward = 2;

// The clock of a rank, which follows the operations of its step.
class VirtualClock final : public OperationListener {
 public:
  VirtualClock(const plan::RankPlan& plan, comm::Group pipeline)
      : plan_(plan), pipeline_(std::move(pipeline)) {}

  [[nodiscard]] double now() const { return now_; }

  void before(const plan::Operation& /*operation*/) override {}

  void after(const plan::Operation& operation) override {
    if (operation.kind == plan::OpKind::kSend) {
      const int receiver = stage_of(operation) + (is_forward(operation) ? 1 : -1);
      times_.push_back(at::full({1}, now_, at::kDouble));
      sends_.push_back(
          pipeline_.send(times_.back(), operation.peer, tag(operation, receiver), "time"));
    } else if (operation.kind == plan::OpKind::kAwaitReceive) {
      const at::Tensor sent = at::empty({1}, at::kDouble);
      pipeline_.recv(sent, operation.peer, tag(operation, stage_of(operation)), "time").wait();
      now_ = std::max(now_, sent.item<double>());
    } else if (is_last_unit(operation)) {
      now_ +=
          (is_forward(operation) ? kForward : kBackward) / static_cast<double>(plan_.stages.size());
    }
  }

  void wait_for_sends() {
    for (comm::Pending& send : sends_) send.wait();
  }

 private:
  static bool is_forward(const plan::Operation& operation) {
    return operation.pass == plan::Op::kForward;
  }

  [[nodiscard]] int stage_of(const plan::Operation& operation) const {
    return operation.chunk * kStages + pipeline_.rank();
  }

  static int tag(const plan::Operation& operation, int receiving_stage) {
    return (receiving_stage * kMicroBatches + operation.micro_batch) * 2 +
           (is_forward(operation) ? 0 : 1);
  }

  // Returns whether it runs the last unit of its pass.
  [[nodiscard]] bool is_last_unit(const plan::Operation& operation) const {
    if (!plan::computes(operation.kind)) return false;
    const size_t last = plan_.stage(operation.chunk).units.size() - 1;
    return static_cast<size_t>(operation.index) == (is_forward(operation) ? last : 0);
  }

  const plan::RankPlan& plan_;
  comm::Group pipeline_;
  double now_ = 0;
  std::vector<at::Tensor> times_;
  std::vector<comm::Pending> sends_;
};

config::RunConfig tiny_run(const char* schedule, int chunks) {
  return config::load_or_throw(
      {.sets = {"model.layers=9", "model.width=12", "model.heads=3", "model.context=5",
                "model.vocab_size=17", "model.tied=false", format("parallel.pp={}", kStages),
                format("parallel.schedule={}", schedule), format("parallel.chunks={}", chunks),
                format("train.batch={}", kMicroBatches), "train.micro_batch=1"},
       .job = config::JobSize{.ranks = kStages}});
}

// Returns the virtual seconds until the last rank has done its step.
double seconds_of_step(const config::RunConfig& config, comm::World& world) {
  const comm::Group pipeline = world.group("clocks", {0, 1, 2, 3});
  const Ranks ranks(world, config);
  ParallelModel model(config, ranks, {});
  const plan::RankPlan plan = plan::plan_of(config, ranks.mesh(), ranks.rank());
  model::Pass pass{.tokens = tests::random_classes("tokens", {1, 5}, 17)};
  pass.targets = {.classes = tests::random_classes("targets", {5}, 17)};
  const std::vector<model::Pass> passes(kMicroBatches, pass);
  VirtualClock clock(plan, pipeline);
  model.forward_backward(passes, {.listener = &clock});
  clock.wait_for_sends();
  const at::Tensor seconds = at::full({1}, clock.now(), at::kDouble);
  world.control().all_reduce(seconds, comm::Reduce::kMax, "end of the step");
  return seconds.item<double>();
}

TEST(Bubble, IsAsLongAsTheSimulatorSays) {
  tests::run_ranks(kStages, [](const cluster::Membership& me,
                               const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
    for (const char* name : {"gpipe", "1f1b", "interleaved"}) {
      const int chunks = name == std::string("interleaved") ? 2 : 1;
      const plan::Schedule schedule = plan::make_schedule(
          name, {.ranks = kStages, .chunks = chunks, .micro_batches = kMicroBatches});
      const plan::Simulation expected =
          simulate(schedule, even_times(schedule, {.forward = kForward, .backward = kBackward}));
      const double found = seconds_of_step(tiny_run(name, chunks), *world);
      if (me.rank == 0)
        std::printf("%s: %.3f s, simulated %.3f s, of which %.1f %% idle\n", name, found,
                    expected.seconds, 100 * expected.idle_share);
      std::fflush(stdout);
      EXPECT_DOUBLE_EQ(found, expected.seconds) << name;
    }
    world->leave();
  });
}

}  // namespace
}  // namespace shoal::parallel

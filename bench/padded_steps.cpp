// padded_steps -- a step of a layout whose computation takes the time that a cluster file says, so that more ranks than
// cores can be timed: what is measured are the schedule, the links, and what overlaps.
//
//   shoal launch --ranks 4 -- build/release/padded_steps --cluster slow.yaml --set model.vocab_size=509 --set parallel.pp=2
//
// The step is the real one, on a model so small that its own computation takes little of the padding: an operation
// without calls is made as long as planned, one with calls waits before it computes. Rank 0 prints a line NAME VALUE:
// the fastest step, as others on the host only make it slower.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>

#include "shoal/bench/paired.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/cost.h"
#include "shoal/plan/layout.h"
#include "shoal/verify/side.h"

#include "app/arguments.h"

namespace {

using namespace shoal;
using namespace std::chrono_literals;

class Padding final : public parallel::OperationListener {
 public:
  Padding(const config::ClusterConfig& cluster, const plan::RankPlan& plan)
      : plan_(plan), costs_(cluster, plan) {}

  void before(const plan::Operation& operation) override {
    began_ = Clock::now();
    if (calls(operation)) sleep_until_done(operation);
  }
  void after(const plan::Operation& operation) override {
    if (!calls(operation)) sleep_until_done(operation);
  }

 private:
  [[nodiscard]] bool calls(const plan::Operation& operation) const {
    const auto all = plan::calls_of(plan_, operation);
    return std::any_of(all.begin(), all.end(),
                       [&](const plan::OperationCall& call) { return plan_.ranks(call.axes) > 1; });
  }
  void sleep_until_done(const plan::Operation& operation) {
    const std::chrono::duration<double> planned(costs_.compute(operation).device());
    std::this_thread::sleep_until(began_ + std::chrono::duration_cast<Clock::duration>(planned));
  }

  const plan::RankPlan& plan_;
  plan::Costs costs_;
  Clock::time_point began_;
};

int run(const std::vector<std::string>& words) {
  std::string cluster_file;
  std::vector<std::string> sets;
  int steps = 8;
  app::Arguments command("padded_steps",
                         "Seconds of the fastest step whose computation is padded.");
  command.option("--cluster", cluster_file, "how long operations take", {.shown = "FILE"});
  command.option("--set", sets, "a key of the config", {.shown = "KEY=VALUE"});
  command.option("--steps", steps, "that are measured, behind two that are not", {.shown = "N"});
  if (!command.parse(words)) return 0;
  at::set_num_threads(1);
  const auto environment = cluster::Environment::of_this_process();
  const cluster::Membership me = cluster::detect_membership(environment);
  const config::RunConfig config =
      config::load_or_throw({.sets = sets, .job = config::JobSize{me.world_size, me.local_size}});
  plan::require_vocabulary(config);
  plan::require_layout(config, me.world_size);
  const plan::RankPlan plan =
      plan::plan_of(config, plan::mesh_of(config.parallel, me.world_size), me.rank);
  Padding padding(config::load_cluster(cluster_file), plan);
  const auto world = comm::World::join(
      me, environment, {.backend = config::Backend::kGloo, .deadline = 120s, .rendezvous = 60s});
  {
    const parallel::Ranks ranks(*world, config);
    verify::Side side(config, ranks);
    std::vector<double> seconds;
    constexpr int kWarmUp = 2;
    for (int step = 0; step < kWarmUp + steps; ++step) {
      const auto began = Clock::now();
      side.gradients_of(step, &padding);
      side.update(&padding);
      if (step >= kWarmUp) seconds.push_back(seconds_since(began));
    }
    const bench::Quartiles found = bench::quartiles_of(seconds);
    if (me.rank == 0)
      std::cout << format("quartiles {:.4f} .. {:.4f} s\npadded.seconds {:.5f}\n", found.low,
                          found.high, *std::min_element(seconds.begin(), seconds.end()));
  }
  world->leave();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run({argv + 1, argv + argc});
} catch (const shoal::Error& error) {
  std::cerr << "padded_steps: " << error.what() << "\n";
  return static_cast<int>(error.exit_code());
}

// replica_check_bench -- a comparison of replicas beside a step: what train.compare_every costs.
//
//   shoal launch --ranks 2 -- build/release/replica_check_bench --set model.vocab_size=257 --set parallel.sharding=no_shard
//
// Rank 0 prints the paired ratio of the two, and the share of training that comparisons take at
// their default distance.

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "shoal/bench/paired.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/parallel/replica_check.h"
#include "shoal/plan/composition.h"
#include "shoal/verify/side.h"

#include "app/arguments.h"

namespace {

using namespace shoal;
using namespace std::chrono_literals;

int run(const std::vector<std::string>& words) {
  std::vector<std::string> sets;
  int rounds = 21;
  app::Arguments command("replica_check_bench", "A comparison of replicas beside a step.");
  command.option("--set", sets, "a key of the config", {.shown = "KEY=VALUE"});
  command.option("--rounds", rounds, "each of a step and a comparison", {.shown = "N"});
  if (!command.parse(words)) return 0;
  at::set_num_threads(1);
  const auto environment = cluster::Environment::of_this_process();
  const cluster::Membership me = cluster::detect_membership(environment);
  const config::RunConfig config =
      config::load_or_throw({.sets = sets, .job = config::JobSize{me.world_size, me.local_size}});
  plan::require_vocabulary(config);
  plan::require_layout(config, me.world_size);
  const auto world = comm::World::join(
      me, environment, {.backend = config::Backend::kGloo, .deadline = 120s, .rendezvous = 60s});
  {
    const parallel::Ranks ranks(*world, config);
    verify::Side side(config, ranks);
    const parallel::ReplicaCheck check(side.model(), ranks);
    int64_t step = 0;
    const bench::Paired found =
        bench::measure_paired({.a =
                                   [&] {
                                     if (!check.differences(*world).empty())
                                       throw_bug(__FILE__, __LINE__, "equal", "replicas differ");
                                   },
                               .b =
                                   [&] {
                                     side.gradients_of(step++);
                                     side.update();
                                   },
                               .rounds = rounds,
                               .calls = 1});
    if (me.rank == 0)
      std::cout << format(
          "a comparison takes {} of a step of {:.4f} s: every {} steps {:.4f} % of the time\n",
          found.ratio.text(4), found.b_seconds.median, config.train.compare_every,
          100 * found.ratio.median / static_cast<double>(config.train.compare_every));
  }
  world->leave();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run({argv + 1, argv + argc});
} catch (const shoal::Error& error) {
  std::cerr << "replica_check_bench: " << error.what() << "\n";
  return static_cast<int>(error.exit_code());
}

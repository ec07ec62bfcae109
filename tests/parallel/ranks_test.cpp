// Rebuilding the groups of a model changes nothing but the connections.
#include "shoal/parallel/ranks.h"

#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/verify/side.h"

#include "tests/support/run_ranks.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

std::vector<double> losses_of(comm::World& world, const config::RunConfig& config, bool rebuilds) {
  Ranks ranks(world, config);
  verify::Side side(config, ranks);
  std::vector<double> losses;
  for (int64_t step = 0; step < 4; ++step) {
    // The gathers after an update are in flight between steps.
    if (rebuilds && step > 0) side.model().set_masters([&] { ranks.rebuild(world); });
    losses.push_back(side.gradients_of(step).item<double>());
    side.update();
  }
  return losses;
}

TEST(Ranks, AreRebuiltUnderARunningModel) {
  tests::run_ranks(4, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
    for (const char* layout : {"parallel.dp_shard=2", "parallel.dp_replicate=2"}) {
      const config::RunConfig config = config::load_or_throw(
          {.sets = {"model.layers=3", "model.width=12", "model.heads=3", "model.context=7",
                    "model.vocab_size=23", "train.batch=5", "train.micro_batch=1", "parallel.tp=2",
                    "parallel.sharding=optimizer", "train.precision=fp64", layout},
           .job = config::JobSize{4, 4}});
      EXPECT_EQ(losses_of(*world, config, true), losses_of(*world, config, false)) << layout;
    }
    world->leave();
  });
}

}  // namespace
}  // namespace shoal::parallel

// Every layout trains like one rank: loss, gradients and new weights of each step, in double
// precision.

#include <algorithm>
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/verify/agreement.h"
#include "shoal/verify/tolerance.h"

#include "tests/parallel/grid_cases.h"
#include "tests/support/growth.h"
#include "tests/support/run_ranks.h"

namespace shoal::verify {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using tests::Case;
using tests::Grid;

using config::Backend;
using tests::Launcher;

// Runs all cases in one job: starting processes takes longer than a case.
template <class Check>
void on_ranks_of(const Grid& grid, Backend backend, const Check& check) {
  const Launcher launcher = backend == Backend::kMpi ? Launcher::kMpirun : Launcher::kShoal;
  tests::run_ranks(
      grid.ranks,
      [&](const cluster::Membership& me, const cluster::Environment& environment) {
        const auto world = comm::World::join(
            me, environment, {.backend = backend, .deadline = 60s, .rendezvous = 60s});
        for (const Case& c : grid.cases) {
          SCOPED_TRACE(name_of(c));
          const config::RunConfig config = config_of(c, grid.ranks);
          check(config,
                compare_with_one_rank(config, *world, {.steps = tests::is_nightly() ? 5 : 3}),
                me.rank == 0 ? name_of(c) : "");
        }
        world->leave();
      },
      {.launcher = launcher, .environment = {{"OMP_NUM_THREADS", "1"}}});
}

void run_cases(const Grid& grid, Backend backend = Backend::kGloo) {
  on_ranks_of(grid, backend,
              [&](const config::RunConfig&, const Agreement& found, const std::string& name) {
                const TensorDifference worst = found.worst();
                if (!name.empty())
                  std::printf("%d ranks: loss %.1e gradient %.1e weight %.1e norm %.1e  %s\n",
                              grid.ranks, found.loss, worst.gradient, worst.weight, found.norm,
                              name.c_str());
                std::fflush(stdout);
                EXPECT_EQ(worst.initial, 0);
                EXPECT_LE(found.loss, 1e-12);
                EXPECT_LE(worst.gradient, 1e-11);
                EXPECT_LE(worst.weight, 1e-11);
                EXPECT_LE(found.norm, 1e-11);
                EXPECT_GT(found.largest_gradient, 1e-3);
              });
}

// Returns how many times as far from fp64 the layout is as one rank: the maximum and the median
// over all tensors.
std::pair<double, double> times_one_rank(const Agreement& found, Distance TensorDifference::*of) {
  std::vector<double> times;
  for (const auto& [name, tensor] : found.tensors)
    times.push_back((tensor.*of).layout / (tensor.*of).one_rank);
  std::sort(times.begin(), times.end());
  return {times.back(), times[times.size() / 2]};
}

// Compares with the tolerances of verify/tolerance.h, which come from one rank's own distance from
// fp64.
void run_in(const char* precision) {
  Grid grid = tests::one_of_each_kind();
  const tests::Sets more = {std::string("train.precision=") + precision,
                            "optimizer.epsilon=1.0e-3"};
  for (Case& c : grid.cases) c.sets.insert(c.sets.end(), more.begin(), more.end());
  on_ranks_of(
      grid, Backend::kGloo,
      [](const config::RunConfig& config, const Agreement& found, const std::string& name) {
        const auto [gradient, gradients] = times_one_rank(found, &TensorDifference::gradient_error);
        const auto [weight, weights] = times_one_rank(found, &TensorDifference::weight_error);
        if (!name.empty())
          std::printf("of one rank's distance: gradients %.2f (%.2f) weights %.2f (%.2f)  %s\n",
                      gradient, gradients, weight, weights, name.c_str());
        std::fflush(stdout);
        EXPECT_THAT(outside(found, tolerance_of(config, found)), ::testing::IsEmpty());
        EXPECT_LT(gradients, 1.5);  // the median, so that a few small tensors do not matter
        EXPECT_LT(weights, 1.5);
      });
}

TEST(Grid, OverMpi) { run_cases(tests::one_of_each_kind(), Backend::kMpi); }

TEST(Grid, InSinglePrecision) { run_in("fp32"); }

TEST(Grid, InHalfPrecision) { run_in("bf16"); }

TEST(Grid, TwoRanks) { run_cases(tests::two_ranks()); }

TEST(Grid, ThreeRanks) { run_cases(tests::three_ranks()); }

TEST(Grid, FourRanks) { run_cases(tests::four_ranks()); }

TEST(Grid, FourRanksOfTwoKinds) { run_cases(tests::four_ranks_of_two_kinds()); }

TEST(Grid, SixRanks) { run_cases(tests::six_ranks()); }

TEST(Grid, EightRanks) { run_cases(tests::eight_ranks()); }

// The same cases under the rules of NCCL, without a GPU.
TEST(StrictGrid, TwoRanks) { run_cases(tests::two_ranks(), Backend::kStrict); }

TEST(StrictGrid, ThreeRanks) { run_cases(tests::three_ranks(), Backend::kStrict); }

TEST(StrictGrid, FourRanks) { run_cases(tests::four_ranks(), Backend::kStrict); }

TEST(StrictGrid, FourRanksOfTwoKinds) {
  run_cases(tests::four_ranks_of_two_kinds(), Backend::kStrict);
}

TEST(StrictGrid, SixRanks) { run_cases(tests::six_ranks(), Backend::kStrict); }

TEST(StrictGrid, EightRanks) { run_cases(tests::eight_ranks(), Backend::kStrict); }

}  // namespace
}  // namespace shoal::verify

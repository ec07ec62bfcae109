// Every layout trains like one rank: loss, gradients and new weights of five steps, in double precision.

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/verify/agreement.h"
#include "shoal/verify/tolerance.h"

#include "tests/parallel/grid_cases.h"
#include "tests/support/run_ranks.h"

namespace shoal::verify {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using tests::Case;
using tests::Grid;

// The same cases on all ranks of one job: starting processes takes longer than they do.
void run_cases(const Grid& grid) {
  const int ranks = grid.ranks;
  tests::run_ranks(
      ranks,
      [&](const cluster::Membership& me, const cluster::Environment& environment) {
        const auto world = comm::World::join(
            me, environment,
            {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
        for (const Case& c : grid.cases) {
          SCOPED_TRACE(name_of(c));
          const Agreement found = compare_with_one_rank(config_of(c, ranks), *world, {.steps = 5});
          const TensorDifference worst = found.worst();
          if (me.rank == 0)
            std::printf("%d ranks: loss %.1e gradient %.1e weight %.1e norm %.1e  %s\n", ranks,
                        found.loss, worst.gradient, worst.weight, found.norm, name_of(c).c_str());
          std::fflush(stdout);
          EXPECT_EQ(worst.initial, 0);
          EXPECT_LE(found.loss, 1e-12);
          EXPECT_LE(worst.gradient, 1e-11);
          EXPECT_LE(worst.weight, 1e-11);
          EXPECT_LE(found.norm, 1e-11);
          EXPECT_GT(found.largest_gradient, 1e-3);
        }
        world->leave();
      },
      {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

// With the tolerances of verify/tolerance.h, which the precision makes.
void run_in(const char* precision) {
  Grid grid = tests::one_of_each_kind();
  for (Case& c : grid.cases) c.sets.push_back(std::string("train.precision=") + precision);
  tests::run_ranks(grid.ranks,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(
                         me, environment,
                         {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
                     for (const Case& c : grid.cases) {
                       SCOPED_TRACE(name_of(c));
                       const config::RunConfig config = config_of(c, grid.ranks);
                       const Agreement found = compare_with_one_rank(config, *world, {.steps = 5});
                       const Tolerance allowed = tolerance_of(config, found);
                       const TensorDifference worst = found.worst();
                       if (me.rank == 0)
                         std::printf(
                             "loss %.1e of %.1e gradient %.1e of %.1e weight %.1e of %.1e  %s\n",
                             found.loss, allowed.loss, worst.gradient, allowed.gradient,
                             worst.weight, allowed.weight, name_of(c).c_str());
                       std::fflush(stdout);
                       EXPECT_THAT(outside(found, allowed), ::testing::IsEmpty());
                     }
                     world->leave();
                   },
                   {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

TEST(Grid, InSinglePrecision) { run_in("fp32"); }

TEST(Grid, InHalfPrecision) { run_in("bf16"); }

TEST(Grid, TwoRanks) { run_cases(tests::two_ranks()); }

TEST(Grid, ThreeRanks) { run_cases(tests::three_ranks()); }

TEST(Grid, FourRanks) { run_cases(tests::four_ranks()); }

TEST(Grid, FourRanksOfTwoKinds) { run_cases(tests::four_ranks_of_two_kinds()); }

TEST(Grid, SixRanks) { run_cases(tests::six_ranks()); }

TEST(Grid, EightRanks) { run_cases(tests::eight_ranks()); }

}  // namespace
}  // namespace shoal::verify

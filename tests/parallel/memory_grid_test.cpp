// The planned peak of every rank on every layout of the grid is that of its dry run, which
// dry_run_ranks_test compares with real ranks.

#include "tests/parallel/memory_grid.h"

#include "shoal/dry_run/dry_run.h"

namespace shoal::tests {
namespace {

TEST(GridMemory, IsThatOfADryRun) {
  std::vector<double> errors;
  for (const Grid& grid : all_grids()) {
    std::vector<Peaks> peaks;
    for (size_t i = 0; i < grid.cases.size(); ++i) {
      const config::RunConfig config = larger(grid.cases[i], grid.ranks);
      const plan::Mesh mesh = plan::mesh_of(config.parallel, grid.ranks);
      for (int rank = 0; rank < grid.ranks; ++rank) {
        const plan::RankPlan plan = plan::plan_of(config, mesh, rank);
        Peaks one = planned_peaks(i, plan);
        one.found = dry_run::run_dry(config, plan, plan::training_program(plan)).peak;
        peaks.push_back(one);
      }
    }
    for (const double error : compare_peaks(grid, peaks)) errors.push_back(error);
  }
  expect_small_mean(errors);
}

}  // namespace
}  // namespace shoal::tests

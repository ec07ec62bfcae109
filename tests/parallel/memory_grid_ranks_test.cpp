// The planned peak of every rank on every layout of the grid beside what a real rank was measured to take.

#include <sstream>

#include "tests/parallel/memory_grid.h"

namespace shoal::tests {
namespace {

// Returns the peaks of every rank on every layout.
std::vector<Peaks> peaks_of(const Grid& grid) {
  const auto write = [&](comm::World& world, std::ostream& table) {
    for (size_t i = 0; i < grid.cases.size(); ++i) {
      const config::RunConfig config = larger(grid.cases[i], grid.ranks);
      const Peaks planned = planned_peaks(
          i, plan::plan_of(config, plan::mesh_of(config.parallel, grid.ranks), world.rank()));
      table << i << ' ' << planned.planned << ' ' << planned.allowed << ' '
            << measured(config, world).peak << '\n';
    }
  };
  std::vector<Peaks> peaks;
  for (const std::string& table : tables_of_ranks(grid.ranks, write)) {
    std::istringstream lines(table);
    for (Peaks one; lines >> one.layout >> one.planned >> one.allowed >> one.found;)
      peaks.push_back(one);
  }
  return peaks;
}

class GridMemoryOnRanks : public ::testing::TestWithParam<Grid> {
 protected:
  static void TearDownTestSuite() {
    if (!errors_.empty()) expect_small_mean(errors_);  // empty: one rank of a job
  }
  static std::vector<double> errors_;  // of the worst rank of each layout
};

std::vector<double> GridMemoryOnRanks::errors_;

TEST_P(GridMemoryOnRanks, IsWhatWasCounted) {
  const Grid& grid = GetParam();
  const std::vector<Peaks> peaks = peaks_of(grid);
  ASSERT_EQ(peaks.size(), grid.cases.size() * static_cast<size_t>(grid.ranks));
  for (const double error : compare_peaks(grid, peaks)) errors_.push_back(error);
}

INSTANTIATE_TEST_SUITE_P(All, GridMemoryOnRanks, ::testing::ValuesIn(all_grids()));

}  // namespace
}  // namespace shoal::tests

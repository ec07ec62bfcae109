// The planned peak of every layout of the grid beside what its ranks were measured to take, with
// shapes that are large enough to count: all sizes stay odd, splits stay uneven.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "shoal/plan/device_allowance.h"

#include "tests/parallel/grid_cases.h"
#include "tests/parallel/memory_case.h"

namespace shoal::tests {
namespace {

// The grid's models, wider, and longer sequences: a rank holds some MiB.
const Sets kLarger = {"train.precision=fp32", "model.context=67", "model.vocab_size=2003"};
const Sets kWiderGpt2 = {"model.width=216", "model.hidden=821"};
const Sets kWiderLlama = {"model.width=180", "model.head_width=46", "model.hidden=506"};

config::RunConfig larger(Case c, int ranks) {
  Sets sets = kLarger;
  const Sets& wider = c.llama ? kWiderLlama : kWiderGpt2;
  sets.insert(sets.end(), wider.begin(), wider.end());
  sets.insert(sets.end(), c.sets.begin(), c.sets.end());
  c.sets = sets;
  return config_of(c, ranks);
}

struct Peaks {
  size_t layout = 0;
  int64_t planned = 0;
  int64_t allowed = 0;  // what a device must have for tensors, so that the layout "fits"
  int64_t found = 0;

  [[nodiscard]] double error() const { return ratio(planned, found) - 1; }
};

// Returns the peaks of every rank on every layout.
std::vector<Peaks> peaks_of(const Grid& grid) {
  const auto write = [&](comm::World& world, std::ostream& table) {
    for (size_t i = 0; i < grid.cases.size(); ++i) {
      const config::RunConfig config = larger(grid.cases[i], grid.ranks);
      const plan::RankPlan plan =
          plan::plan_of(config, plan::mesh_of(config.parallel, grid.ranks), world.rank());
      const plan::Memory planned = plan::memory_of(plan, plan::training_program(plan));
      const int64_t beside =
          plan::device_allowance(plan::DeviceKind::kCpu, plan, planned).allocator;
      table << i << ' ' << planned.peak() << ' ' << planned.peak() + beside << ' '
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

class GridMemory : public ::testing::TestWithParam<Grid> {
 protected:
  static void TearDownTestSuite() {
    if (errors_.empty()) return;  // one rank of a job
    double sum = 0;
    for (const double error : errors_) sum += error;
    const double mean = sum / static_cast<double>(errors_.size());
    std::printf("%zu layouts, the worst rank of each: mean error %.2f %%, largest %.2f %%\n",
                errors_.size(), 100 * mean,
                100 * *std::max_element(errors_.begin(), errors_.end()));
    EXPECT_LE(mean, 0.02);
  }
  static std::vector<double> errors_;  // of the worst rank of each layout
};

std::vector<double> GridMemory::errors_;

TEST_P(GridMemory, IsWhatWasCounted) {
  const Grid& grid = GetParam();
  const std::vector<Peaks> peaks = peaks_of(grid);
  ASSERT_EQ(peaks.size(), grid.cases.size() * static_cast<size_t>(grid.ranks));
  for (size_t i = 0; i < grid.cases.size(); ++i) {
    const std::string name = name_of(grid.cases[i]);
    Peaks worst{};
    for (const Peaks& one : peaks) {
      if (one.layout != i) continue;
      EXPECT_LE(one.found, one.allowed) << name;
      if (worst.found == 0 || std::abs(one.error()) > std::abs(worst.error())) worst = one;
    }
    std::printf("%d ranks: planned %7.3f MiB, measured %7.3f: %+6.2f %%  %s\n", grid.ranks,
                mib(worst.planned), mib(worst.found), 100 * worst.error(), name.c_str());
    EXPECT_LE(std::abs(worst.error()), 0.05) << name;
    errors_.push_back(std::abs(worst.error()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, GridMemory, ::testing::ValuesIn(all_grids()));

}  // namespace
}  // namespace shoal::tests

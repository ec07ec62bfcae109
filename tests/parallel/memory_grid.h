// memory_grid.h -- the planned peaks of every layout of the grid beside measured ones, with shapes that are
// large enough to count: all sizes stay odd, splits stay uneven.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "shoal/plan/device_allowance.h"

#include "tests/parallel/grid_cases.h"
#include "tests/parallel/memory_case.h"

namespace shoal::tests {

// The grid's models, wider, and longer sequences: a rank holds some MiB.
inline const Sets kLarger = {"train.precision=fp32", "model.context=67", "model.vocab_size=2003"};
inline const Sets kWiderGpt2 = {"model.width=216", "model.hidden=821"};
inline const Sets kWiderLlama = {"model.width=180", "model.head_width=46", "model.hidden=506"};

inline config::RunConfig larger(Case c, int ranks) {
  Sets sets = kLarger;
  const Sets& wider = c.llama ? kWiderLlama : kWiderGpt2;
  sets.insert(sets.end(), wider.begin(), wider.end());
  sets.insert(sets.end(), c.sets.begin(), c.sets.end());
  c.sets = sets;
  return config_of(c, ranks);
}

// The peaks of a rank on a layout of a grid, in bytes.
struct Peaks {
  size_t layout = 0;
  int64_t planned = 0;
  int64_t allowed = 0;  // what a device must have for tensors, so that the layout "fits"
  int64_t found = 0;

  [[nodiscard]] double error() const { return ratio(planned, found) - 1; }
};

// Returns the planned peaks of a rank. `beside` them its allocator needs some more.
inline Peaks planned_peaks(size_t layout, const plan::RankPlan& plan) {
  const plan::Memory planned = plan::memory_of(plan, plan::training_program(plan));
  const int64_t beside = plan::device_allowance(plan::DeviceKind::kCpu, plan, planned).allocator;
  return {.layout = layout, .planned = planned.peak(), .allowed = planned.peak() + beside};
}

// Compares the peaks of all ranks and layouts of a grid; prints the rank of each layout whose plan is
// furthest from what was found, and returns that rank's error.
inline std::vector<double> compare_peaks(const Grid& grid, const std::vector<Peaks>& peaks) {
  std::vector<double> errors;
  for (size_t i = 0; i < grid.cases.size(); ++i) {
    const std::string name = name_of(grid.cases[i]);
    Peaks worst{};
    for (const Peaks& one : peaks) {
      if (one.layout != i) continue;
      EXPECT_LE(one.found, one.allowed) << name;
      if (worst.found == 0 || std::abs(one.error()) > std::abs(worst.error())) worst = one;
    }
    std::printf("%d ranks: planned %7.3f MiB, found %7.3f: %+6.2f %%  %s\n", grid.ranks,
                mib(worst.planned), mib(worst.found), 100 * worst.error(), name.c_str());
    EXPECT_LE(std::abs(worst.error()), 0.05) << name;
    errors.push_back(std::abs(worst.error()));
  }
  return errors;
}

// Expects the mean of the worst ranks' errors to be small.
inline void expect_small_mean(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += error;
  const double mean = sum / static_cast<double>(errors.size());
  std::printf("%zu layouts, the worst rank of each: mean error %.2f %%, largest %.2f %%\n",
              errors.size(), 100 * mean, 100 * *std::max_element(errors.begin(), errors.end()));
  EXPECT_LE(mean, 0.02);
}

}  // namespace shoal::tests

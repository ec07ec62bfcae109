// stragglers.h -- finds ranks that compute more slowly than others with the same work, and keep them
// waiting.
//
//   Stragglers stragglers(world, mesh);
//   stragglers.begin_step();
//   ...                                        // a step
//   const std::vector<Stragglers::Slow> slow = stragglers.end_step();
//   log::warn("{}", stragglers.names(slow));
//
// A rank's own time is that of the step without the time that its thread waited for others, which the
// activity board knows. Every `kWindow` steps ranks exchange the median of theirs, in the background
// of the next step. Ranks of one pipeline stage have the same work, so each is compared with the
// median of its stage; a rank that is alone in its stage is not compared. One slow window may be
// noise on a busy host, so a rank counts as slow after two in a row. A slow rank is only reported:
// a false stop costs more than a slow step.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/comm/world.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/mesh.h"

namespace shoal::train {

class Stragglers {
 public:
  static constexpr int kWindow = 10;       // steps
  static constexpr double kTooSlow = 1.2;  // times as long as the others

  struct Slow {
    int rank = 0;
    double seconds = 0;  // of its own, in a step
    double others = 0;   // the median of its stage
  };

  // `world` outlives this.
  Stragglers(comm::World& world, const plan::Mesh& mesh);

  void begin_step();
  // Returns ranks that have been slow for two windows, the slowest first, once each until they are
  // fast again. Collective.
  std::vector<Slow> end_step();

  // Returns the slowest of them in words, with their hosts. Collective.
  [[nodiscard]] std::string names(const std::vector<Slow>& slow) const;

 private:
  [[nodiscard]] std::vector<Slow> judge(const at::Tensor& medians) const;
  std::vector<Slow> not_yet_told(std::vector<Slow> slow);

  comm::World& world_;
  std::vector<int> stage_of_;  // of each rank
  Clock::time_point began_;
  std::chrono::nanoseconds waited_before_{};
  std::vector<double> window_;  // own seconds of its steps so far
  std::set<int> slow_before_;   // ranks, in the last window
  std::set<int> told_;          // of these, those that were returned
  at::Tensor asked_;
  comm::Control::Later later_;
};

}  // namespace shoal::train

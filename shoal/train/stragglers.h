// stragglers.h -- finds ranks that compute more slowly than others with the same work, and keep them
// waiting.
//
//   Stragglers stragglers(world, mesh);
//   stragglers.begin_step();
//   ...                                        // a step
//   for (const Stragglers::Slow& slow : stragglers.end_step()) ...
//
// A rank's own time is that of the step without the time that its thread waited for others, which the
// activity board knows. Every `kWindow` steps
// ranks exchange the median of theirs, in the background of the next step. Ranks of one pipeline stage
// have the same work, so each is compared with the median of its stage; a rank that is alone in its
// stage is compared with nobody. Nothing is done about a slow rank but to name it: a false stop costs
// more than a slow step.
#pragma once

#include <chrono>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/comm/world.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/mesh.h"

namespace shoal::train {

class Stragglers {
 public:
  static constexpr int kWindow = 20;       // steps
  static constexpr double kTooSlow = 1.2;  // times as long as the others

  struct Slow {
    int rank = 0;
    double seconds = 0;  // of its own, in a step
    double others = 0;   // the median of its stage
  };

  // `world` outlives this.
  Stragglers(comm::World& world, const plan::Mesh& mesh);

  void begin_step();
  // Returns the slow ranks, the slowest first, after a window in which others were slow than in the
  // one before; nothing after other steps. Collective.
  std::vector<Slow> end_step();

 private:
  [[nodiscard]] std::vector<Slow> judge(const at::Tensor& medians) const;

  comm::World& world_;
  std::vector<int> stage_of_;  // of each rank
  Clock::time_point began_;
  std::chrono::nanoseconds waited_before_{};
  std::vector<double> window_;  // own seconds of its steps so far
  std::vector<int> told_;       // the ranks that were slow in the last window
  at::Tensor asked_;
  comm::Control::Later later_;
};

}  // namespace shoal::train

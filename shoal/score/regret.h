// regret.h -- what it would have cost to follow the planner's choice among layouts that were measured.
//
//   for (const Pick& pick : picks_of(machine, rows)) pick.chosen->id, pick.regret;
#pragma once

#include <vector>

#include "shoal/score/machines.h"

namespace shoal::score {

// Layouts of one model, batch and number of devices, each with its measured step time.
struct Pick {
  std::vector<const PublishedRow*> layouts;
  const PublishedRow* chosen =
      nullptr;  // by predicted time, and plan::preferred() where times are equal
  const PublishedRow* fastest = nullptr;  // as measured
  double regret = 0;                      // how much longer the chosen one takes
  // What is chosen without any times: the fewest parts of the model, and the least memory.
  const PublishedRow* naive = nullptr;
  double naive_regret = 0;
  double random_regret = 0;  // of a layout picked at random, on average
};

// Returns a pick for every model with at least `least` layouts among the rows of time_group(machine). The
// rows live as long as the picks.
std::vector<Pick> picks_of(const Machine& machine,
                           const std::vector<PublishedRow>& rows,
                           size_t least = 5);

}  // namespace shoal::score

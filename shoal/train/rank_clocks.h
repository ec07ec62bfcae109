// rank_clocks.h -- how far the clock of a rank is from that of rank 0.
//
//   const ClockOffset offset = align_clocks(world);
//   event_time - offset.ahead                       // on the clock of rank 0, give or take offset.error
//
// No rank leaves a barrier before all ranks have entered it. So each barrier bounds the offset of
// two clocks from above and from below, without any assumption about message latency. Several
// barriers narrow the bounds.
#pragma once

#include <chrono>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/core/quantities.h"

namespace shoal::train {

struct Passage {
  std::chrono::nanoseconds entered{};
  std::chrono::nanoseconds left{};
};

struct ClockOffset {
  std::chrono::nanoseconds ahead{};   // of rank 0's clock
  std::chrono::nanoseconds error{};   // at most
  std::chrono::nanoseconds origin{};  // before the first barrier, on the clock of rank 0
};

// Returns the offset that follows from the same barriers, by the clocks of both.
ClockOffset offset_of(const std::vector<Passage>& mine, const std::vector<Passage>& first);

// Measures it now. Collective.
ClockOffset align_clocks(comm::World& world);

}  // namespace shoal::train

// schedule_picture.h -- a simulated schedule as a text timeline: a line per rank, time from left to
// right.
//
//   rank 0  F0F1......B0--B1--
//   rank 1  ..F0F1B0--B1--....
//
// Each pass begins with F or B and the number of its micro-batch, then a letter for its chunk where
// there are several (a is chunk 0), and goes on in dashes; dots are idle time. A label without room
// loses the chunk first, then the number. When a pass is narrower than a column, a column shows
// what runs in the middle of its time.
#pragma once

#include <string>

#include "shoal/plan/schedule.h"
#include "shoal/plan/schedule_simulation.h"

namespace shoal::plan {

constexpr int kMinPictureWidth = 20;

// Returns lines of at most `width` characters.
std::string picture(const Schedule& schedule, const Simulation& simulation, int width);

}  // namespace shoal::plan

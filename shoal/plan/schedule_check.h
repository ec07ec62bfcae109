// schedule_check.h -- whether a schedule does all of the work, and each part of it once.
//
//   require_complete(schedule, "my_schedule.txt");   // DataError with all that is wrong
//
// Complete: every rank runs one forward and one backward of each micro-batch for each of its
// stages, the backward behind the forward. A schedule can be complete and still block, when ranks
// wait for each other: schedule_simulation.h finds that.
#pragma once

#include <string_view>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {

// All problems, by rank; a thousand at most. None: it is complete.
std::vector<config::Problem> check(const Schedule& schedule);

void require_complete(const Schedule& schedule, std::string_view name);

}  // namespace shoal::plan

// schedule_check.h -- checks that a schedule runs every pass, and each once.
//
//   require_complete(schedule, "my_schedule.txt");   // DataError with all that is wrong
//
// A schedule is complete when every rank runs one forward and one backward of each micro-batch for
// each of its stages, the backward after the forward. A complete schedule can still deadlock:
// schedule_simulation.h finds that.
#pragma once

#include <string_view>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {

// Returns all problems by rank, a thousand at most; empty when the schedule is complete.
std::vector<config::Problem> check(const Schedule& schedule);

void require_complete(const Schedule& schedule, std::string_view name);

}  // namespace shoal::plan

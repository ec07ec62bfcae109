// process_age.h -- the start time of this process, before any of our code ran.
#pragma once

#include "shoal/core/quantities.h"

namespace shoal::app {

// Returns the start time from /proc, to the hundredth of a second; without /proc, the current time.
Clock::time_point process_start();

}  // namespace shoal::app

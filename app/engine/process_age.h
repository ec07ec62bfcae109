// process_age.h -- when this process began, before any of our code ran.
#pragma once

#include "shoal/core/units.h"

namespace shoal::app {

// From /proc, to the hundredth of a second; now, where there is none.
Clock::time_point process_start();

}  // namespace shoal::app

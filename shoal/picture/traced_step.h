// traced_step.h -- where the time of a traced step went, rank by rank.
#pragma once

#include "shoal/metrics/step_trace.h"
#include "shoal/picture/markup.h"

namespace shoal::picture {

// A bar for each rank, of the first sixteen: computation, what was waited for, and the rest.
void draw_traced_step(Markup& markup, const metrics::TraceSummary& trace);

}  // namespace shoal::picture

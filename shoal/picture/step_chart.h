// step_chart.h -- draws the lanes of a step.
#pragma once

#include <vector>

#include "shoal/picture/markup.h"
#include "shoal/picture/plan_facts.h"
#include "shoal/picture/step_lanes.h"

namespace shoal::picture {

// A lane for each stage, of at most sixteen, with the step's time from left to right. A block that
// waits has its waiting at its end, in the colour of what it waits for; what runs beside the
// computation is below it and pale. A lane with more blocks than can be seen shows the share of
// each colour in each of its moments. `facts` have a time.
void draw_step(Markup& markup, const PlanFacts& facts, const std::vector<Lane>& lanes);

}  // namespace shoal::picture

// tables.h -- the figures of a plan as tables, for those who cannot see its pictures.
#pragma once

#include "shoal/picture/markup.h"
#include "shoal/picture/plan_facts.h"

namespace shoal::picture {

// The whole plan, then memory and time by stage; of more than sixteen stages some.
void draw_tables(Markup& markup, const PlanFacts& facts);

}  // namespace shoal::picture

// engine_facts.h -- what the engine adds to the facts about a job: libtorch, devices, backends.
#pragma once

#include "shoal/comm/world.h"

#include "app/report.h"

namespace shoal::app {

void add_engine_facts(Report& report);
void add_world_facts(Report& report, comm::World& world);  // collective

}  // namespace shoal::app

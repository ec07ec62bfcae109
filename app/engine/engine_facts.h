// engine_facts.h -- adds libtorch, devices and backends to the report about a job.
#pragma once

#include "shoal/comm/world.h"

#include "app/report.h"

namespace shoal::app {

void add_engine_facts(Report& report);
void add_world_facts(Report& report, comm::World& world);  // collective

}  // namespace shoal::app

// engine_facts.h -- adds libtorch, devices and backends to the report about a job.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/world.h"

#include "app/report.h"

namespace shoal::app {

void add_engine_facts(Report& report);

// Prints libtorch's version and the backends of this build, a line each. A command without arguments.
int print_engine_version(const std::vector<std::string>& arguments);
void add_world_facts(Report& report, comm::World& world);  // collective

}  // namespace shoal::app

// host_facts.h -- what can be said about this build, host and job without torch. Heads `shoal
// doctor` and every run's log.
#pragma once

#include <optional>
#include <string>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"

#include "app/report.h"

namespace shoal::app {

void add_build_facts(Report& report);
void add_host_facts(Report& report);

std::string cpu_name();

// Launcher, scheduler, ranks, nodes, and the address that rank 0 would listen on. Opens no
// connection.
void add_job_facts(Report& report,
                   const cluster::Membership& me,
                   const cluster::Environment& environment,
                   const std::optional<std::string>& interface);

}  // namespace shoal::app

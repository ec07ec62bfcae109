#include "app/engine/job.h"

#include <sstream>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

#include "app/engine/engine_facts.h"
#include "app/host_facts.h"

namespace shoal::app {
Job start_job(const std::optional<std::string>& file,
              const std::vector<std::string>& sets,
              Ranks ranks) {
  Job job;
  job.environment = cluster::Environment::of_this_process();
  job.me = cluster::detect_membership(job.environment);
  const bool check_ranks = job.launched() || ranks == Ranks::kAsStarted;
  job.config = config::load_or_throw(
      {.file = file,
       .sets = sets,
       .world = check_ranks ? std::optional(config::World{job.me.world_size, job.me.local_size})
                            : std::nullopt});
  log::configure({.level = job.config.log.level,
                  .rank = job.me.rank,
                  .world_size = job.me.world_size,
                  .all_ranks = job.config.log.all_ranks});
  return job;
}

Report facts_of(const Job& job) {
  Report report;
  add_build_facts(report);
  add_host_facts(report);
  add_job_facts(report, job.me, job.environment, job.config.comm.interface);
  add_engine_facts(report);
  return report;
}

void head_log(const Job& job) {
  if (!log::enabled(log::Level::kInfo)) return;
  std::istringstream lines(facts_of(job).text());
  for (std::string line; std::getline(lines, line);) log::info("{}", line);
}

}  // namespace shoal::app

#include "app/engine/job.h"

#include <chrono>
#include <sstream>
#include <thread>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

#include "app/engine/engine_facts.h"
#include "app/host_facts.h"

namespace shoal::app {
namespace {

// A problem of the config is the same on every rank as a rule: rank 0 says it, and its end makes the
// launcher stop the others in here. A rank that is still here afterwards has a problem of its own.
constexpr std::chrono::seconds kTimeForRankZero{3};

}  // namespace

Job start_job(const std::optional<std::string>& file, const std::vector<std::string>& sets) {
  Job job;
  job.environment = cluster::Environment::of_this_process();
  job.me = cluster::detect_membership(job.environment);
  try {
    job.config = config::load_or_throw(
        {.file = file, .sets = sets, .world = config::World{job.me.world_size, job.me.local_size}});
  } catch (const UsageError&) {
    if (!job.speaks()) std::this_thread::sleep_for(kTimeForRankZero);
    throw;
  }
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

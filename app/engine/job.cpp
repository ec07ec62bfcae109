#include "app/engine/job.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <malloc.h>

#include <ATen/Parallel.h>

#include "shoal/cluster/launch.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/data/shards/manifest.h"
#include "shoal/hugging_face/initial_model.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/other_ranks.h"

#include "app/edge.h"
#include "app/engine/engine_facts.h"
#include "app/host_facts.h"

namespace shoal::app {
namespace {

[[noreturn]] void end_process(const Error& why) {
  int code = 0;
  try {
    throw Error(why);
  } catch (...) {
    code = report_current_exception();
  }
  std::_Exit(code);
}

// Returns the config with another layout, for these ranks.
plan::OtherLayout layout_for(config::RunConfig config, const config::JobSize& ranks) {
  if (!config.model.vocab_size && !config.data.sources.empty())
    config.model.vocab_size = data::read_manifest(config.data.sources.front()).layout.vocab_size;
  return plan::layout_for(config, config::load_cluster(*config.plan.cluster), ranks);
}

// Returns the config for the ranks that were started. When its layout cannot be run on them, and it
// allows another, `note` says which that is.
config::RunConfig config_for_training(const config::Request& request, std::string& note) {
  const int ranks = request.job->ranks;
  const config::Loaded here = config::load(request);
  if (here.found.problems.empty() && plan::why_not(here.config, ranks).empty()) return here.config;
  const config::Loaded anywhere =
      config::load({.file = request.file, .sets = request.sets, .model = request.model});
  const config::PlanConfig& allowed = anywhere.config.plan;
  if (anywhere.found.problems.empty() && allowed.other_ranks == config::OtherRanks::kSearch &&
      allowed.cluster) {
    plan::OtherLayout other = layout_for(anywhere.config, *request.job);
    note = format("the layout of the config cannot be run on {} ranks; found instead: {}", ranks,
                  other.choice.describe());
    return std::move(other.config);
  }
  config::RunConfig config = config::load_or_throw(request);
  plan::require_layout(config, ranks);
  return config;
}

}  // namespace

Job start_job(const std::optional<std::string>& file,
              const std::vector<std::string>& sets,
              RankCheck check) {
  Job job;
  job.environment = cluster::Environment::of_this_process();
  job.me = cluster::detect_membership(job.environment);
  const bool check_ranks = job.launched() || check != RankCheck::kAnyWhenAlone;
  config::Request request{.file = file, .sets = sets};
  int spares = 0;
  if (check == RankCheck::kForTraining) {
    // The layout is checked for the ranks that train, and for the model that is trained. What else is
    // wrong with the config is told after that.
    const config::Loaded loaded = config::load(request);
    spares = loaded.config.comm.spare_ranks;
    if (loaded.found.problems.empty())
      request.model = hugging_face::initial_model(loaded.config.train);
  }
  if (spares >= job.me.world_size)
    throw UsageError(
        format("comm.spare_ranks is {}, but {} ranks were started: at least one trains", spares,
               job.me.world_size));
  if (check_ranks) request.job = {job.me.world_size - spares, job.me.local_size};
  std::string note;
  job.config = check == RankCheck::kForTraining ? config_for_training(request, note)
                                                : config::load_or_throw(request);
  log::configure({.level = job.config.log.level,
                  .rank = job.me.rank,
                  .world_size = job.me.world_size,
                  .all_ranks = job.config.log.all_ranks});
  if (!note.empty() && job.speaks()) log::warn("{}", note);
  return job;
}

comm::WorldOptions world_options(const Job& job) {
  comm::WorldOptions options = comm::world_options(job.config);
  options.on_lost = end_process;
  return options;
}

std::vector<std::string> sets_in_layout(const std::string& layout) {
  std::vector<std::string> sets;
  for (size_t begin = 0; begin <= layout.size();) {
    const size_t end = std::min(layout.find(',', begin), layout.size());
    const std::string part = layout.substr(begin, end - begin);
    if (part.find('=') == std::string::npos)
      throw UsageError(
          format("--layout has '{}' where KEY=VALUE belongs: write it like tp=2,pp=2", part));
    sets.push_back("parallel." + part);
    begin = end + 1;
  }
  return sets;
}

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, -1);
  ::mallopt(M_TOP_PAD, 64 << 20);
}

void set_threads(const Job& job) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int share = job.environment.get_number(cluster::kCpusVariable)
                        .value_or(cores / std::max(1, job.me.local_size));
  at::set_num_threads(job.config.train.threads.value_or(std::max(1, share)));
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

// job.h -- how every command above the torch line begins: who am I, what does the config say, and
// the head of the log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/config/run_config.h"

#include "app/report.h"

namespace shoal::app {

struct Job {
  cluster::Environment environment;
  cluster::Membership me;
  config::RunConfig config;  // checked against the ranks there are, `auto` resolved

  [[nodiscard]] bool speaks() const { return me.rank == 0; }
  [[nodiscard]] bool launched() const { return me.launcher != "none"; }
};

enum class Ranks {
  kAsStarted,     // the config must fit the ranks there are
  kForTraining,   // and its layout must be one that can be trained on
  kAnyWhenAlone,  // without a launcher, a config for any number of ranks will do
};

// Reads environment and config and sets up the log. UsageError for a wrong config.
Job start_job(const std::optional<std::string>& file,
              const std::vector<std::string>& sets,
              Ranks ranks = Ranks::kAsStarted);

// "tp=2,pp=2" of a --layout as what --set would be given: keys of section parallel.
std::vector<std::string> sets_in_layout(const std::string& layout);

// train.threads, or this rank's share of the host's cores.
void set_threads(const Job& job);

// Build, host, job and engine: what `shoal doctor` prints and what heads the log of every run.
Report facts_of(const Job& job);

void head_log(const Job& job);

}  // namespace shoal::app

// job.h -- the start of every command above the torch line: this rank's membership, the config, and
// the head of the log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"

#include "app/report.h"

namespace shoal::app {

struct Job {
  cluster::Environment environment;
  cluster::Membership me;
  config::RunConfig config;  // checked for the number of ranks, `auto` resolved

  [[nodiscard]] bool speaks() const { return me.rank == 0; }
  // Returns the ranks of the layout, without those that are spare.
  [[nodiscard]] int ranks() const { return me.world_size - config.comm.spare_ranks; }
  [[nodiscard]] bool launched() const { return me.launcher != "none"; }
};

enum class RankCheck {
  kAsStarted,     // the config must fit the number of ranks
  kForTraining,   // and its layout must be trainable
  kAnyWhenAlone,  // without a launcher, a config for any number of ranks will do
};

// Reads environment and config and sets up the log. Throws UsageError for an invalid config.
Job start_job(const std::optional<std::string>& file,
              const std::vector<std::string>& sets,
              RankCheck check = RankCheck::kAsStarted);

// Turns "tp=2,pp=2" of --layout into values for --set: keys of section parallel. Throws UsageError
// when a part is not KEY=VALUE.
std::vector<std::string> sets_in_layout(const std::string& layout);

// Returns the options with which this job's ranks join each other. When one is lost while this rank
// waits for its device, the process ends with that error.
comm::WorldOptions world_options(const Job& job);

// Makes the allocator keep what is freed: every step allocates the same tensors, and by default large
// ones go back to the kernel and come back page by page.
void keep_freed_memory();

// Sets libtorch's threads to train.threads, or to this rank's share of the host's cores.
void set_threads(const Job& job);

// Returns the facts about build, host, job and engine that `shoal doctor` prints and that head the
// log of every run.
Report facts_of(const Job& job);

void head_log(const Job& job);

}  // namespace shoal::app

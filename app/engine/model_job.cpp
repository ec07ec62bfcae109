#include "app/engine/model_job.h"

#include <string_view>

#include "shoal/core/error.h"

namespace shoal::app {
namespace {

// Everything else comes from the model's files, or is for training.
constexpr const char* kSettable = "parallel.*, comm.*, log.* or train.threads";
bool can_be_set(std::string_view set) {
  return set.starts_with("parallel.") || set.starts_with("comm.") || set.starts_with("log.") ||
         set.starts_with("train.threads=");
}

std::vector<std::string> sets_of(const LayoutChoice& choice) {
  std::vector<std::string> sets = choice.sets;
  for (const std::string& set : sets) {
    if (!can_be_set(set))
      throw UsageError(format("--set {}: only {} can be set here; what the model is, its files say",
                              set, kSettable));
  }
  if (choice.layout) {
    const std::vector<std::string> more = sets_in_layout(*choice.layout);
    sets.insert(sets.end(), more.begin(), more.end());
  }
  return sets;
}

}  // namespace

void add_layout_choice(Arguments& command, LayoutChoice& choice) {
  command.option("--layout", choice.layout,
                 "under a launcher, how the model is spread over the ranks: tp=2,pp=2; sharded "
                 "without it",
                 {.shown = "KEY=VALUE,..."});
  command.option("--set", choice.sets, format("one key of the config: {}", kSettable),
                 {.shown = "KEY=VALUE"});
}

ModelJob::ModelJob(const std::string& path, const LayoutChoice& choice)
    : job_(start_job(std::nullopt, sets_of(choice))) {
  set_threads(job_);
  world_ = comm::World::join(job_.me, job_.environment, world_options(job_));
  ranks_ = std::make_unique<parallel::Ranks>(*world_, job_.config);
  model_ = open_model(path, job_.config, *ranks_);
}

void ModelJob::refuse_standard_input() const {
  if (world_->size() > 1)
    throw UsageError(
        "standard input comes to one rank only: under a launcher name a file, or a --prompt");
}

void ModelJob::leave() {
  model_ = {};  // its groups would keep the others' connections to rank 0
  ranks_.reset();
  world_->leave();
}

}  // namespace shoal::app

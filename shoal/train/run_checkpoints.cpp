#include "shoal/train/run_checkpoints.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/checkpoint/resume.h"
#include "shoal/checkpoint/together.h"
#include "shoal/config/agreement.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/number_in.h"
#include "shoal/core/quantities.h"
#include "shoal/state/checkpoint_store.h"

namespace shoal::train {
namespace {

namespace fs = std::filesystem;

// Parses a number that a checkpoint's values hold as text.
int64_t value_of(const checkpoint::Described& checkpoint, const std::string& key) {
  const auto found = checkpoint.values.find(key);
  if (found == checkpoint.values.end())
    throw DataError(format("{} has no value '{}'", checkpoint.path.string(), key));
  const auto number = number_in<int64_t>(found->second);
  if (!number || *number < 0)
    throw DataError(
        format("{}: '{}' is '{}', no number", checkpoint.path.string(), key, found->second));
  return *number;
}

Progress progress_of(const checkpoint::Described& checkpoint) {
  return {.step = static_cast<int64_t>(checkpoint.step),
          .tokens = value_of(checkpoint, "tokens"),
          .skipped = value_of(checkpoint, "skipped"),
          .next_sample = static_cast<uint64_t>(value_of(checkpoint, "next_sample"))};
}

}  // namespace

RunCheckpoints::RunCheckpoints(comm::World& world,
                               fs::path root,
                               const config::TrainConfig& config,
                               std::function<bool()> owns_run,
                               OnSaved saved)
    : world_(world),
      root_(std::move(root)),
      config_(config),
      owns_run_(std::move(owns_run)),
      saved_(std::move(saved)),
      saver_(world, root_) {
  checkpoint::together(world_, "checkpoints that were being replaced", [&] {
    if (writes()) state::restore_replaced(root_);
  });
  best_ = best_on_disk();
}

bool RunCheckpoints::exist() const { return checkpoint::has_checkpoint(world_, root_); }

Resumed RunCheckpoints::resume(const checkpoint::TrainingState& state,
                               const state::Values& description) const {
  const checkpoint::Described from =
      checkpoint::resume_newest(root_, state, [&](const checkpoint::Described& found) {
        (void)progress_of(found);  // throws when a number is missing
        const auto trained_on = found.values.find("data");
        if (trained_on == found.values.end() || trained_on->second != description.at("data"))
          throw UsageError(
              format("{} was trained on other data, or in another order: go on with the same "
                     "data, or start a run with another name",
                     found.path.string()));
        const auto trained = found.values.find("trained");
        const std::string difference =
            trained == found.values.end()
                ? ""
                : config::difference(trained->second, description.at("trained"));
        if (!difference.empty())
          throw UsageError(
              format("{} was trained with {} as in this config: go on with the config of that "
                     "run, or start a run with another name",
                     found.path.string(), difference));
      });
  return {.progress = progress_of(from), .values = from.values};
}

std::optional<double> RunCheckpoints::best_on_disk() {
  std::optional<state::BestCheckpoint> best;
  checkpoint::together(world_, "the best loss so far", [&] {
    if (writes()) best = state::best(root_);
    if (best && !std::isfinite(best->value)) best.reset();
  });
  const at::Tensor told = at::tensor({best ? 1.0 : 0.0, best ? best->value : 0.0}, at::kDouble);
  world_.control().broadcast(told, 0, "the best loss so far");
  if (told[0].item<double>() == 0) return std::nullopt;
  return told[1].item<double>();
}

// Every comparison with NaN is false: a NaN that came first would stay the best.
bool RunCheckpoints::is_best(std::optional<double> val_loss) const {
  return val_loss && std::isfinite(*val_loss) && (!best_ || *val_loss < *best_);
}

// ---- saves ----

void RunCheckpoints::prepare(const checkpoint::TrainingState& state) {
  checkpoint::together(world_, "what unfinished saves left", [&] {
    if (writes()) state::remove_unfinished(root_);
  });
  if (config_.background_save && config_.save_every > 0) saver_.prepare(state);
}

void RunCheckpoints::finish_before(int64_t step) {
  try {
    saver_.finish();
  } catch (const DataError& error) {
    best_ = best_before_;
    if (writes()) log::warn("the save before step {} failed: {}", step, error.what());
  }
}

checkpoint::AroundCommit RunCheckpoints::around_commit(const Progress& progress,
                                                       std::optional<double> val_loss) const {
  const state::Retention retention{.keep = static_cast<size_t>(config_.keep),
                                   .every = static_cast<uint64_t>(config_.keep_every),
                                   .newest = static_cast<uint64_t>(progress.step)};
  return {
      .before =
          [owns_run = owns_run_] {
            if (!owns_run())
              throw DataError(
                  "another job has taken this run over, or its directory cannot be read");
          },
      .after =
          [root = root_, retention, val_loss,
           told = saved_](const checkpoint::SavedCheckpoint& saved) {
            if (val_loss) state::mark_best(root, saved.step, *val_loss);
            state::prune(root, retention);
            log::info(
                "step {} is saved: the loop stood still for {:.3f} s, {} were written in {:.2f} s",
                saved.step, saved.copy_seconds, format_bytes(static_cast<int64_t>(saved.bytes)),
                saved.write_seconds);
            if (told) told(saved);
          }};
}

void RunCheckpoints::save(const Progress& progress,
                          const checkpoint::TrainingState& state,
                          state::Values description,
                          const SaveOptions& options) {
  if (options.wait) {
    finish_before(progress.step);
  } else if (!saver_.idle()) {
    if (writes()) log::warn("step {} is not saved: the last save is not finished", progress.step);
    return;
  }
  description["tokens"] = std::to_string(progress.tokens);
  description["skipped"] = std::to_string(progress.skipped);
  description["next_sample"] = std::to_string(progress.next_sample);
  try {
    saver_.begin(static_cast<uint64_t>(progress.step), state, description,
                 around_commit(progress, options.val_loss));
    if (options.wait || !config_.background_save) saver_.finish();
  } catch (const DataError& error) {
    if (options.wait) throw;
    if (writes())
      log::warn("step {} is not saved, training goes on: {}", progress.step, error.what());
    return;
  }
  best_before_ = best_;
  if (options.val_loss) best_ = options.val_loss;
}

checkpoint::SaveStatus RunCheckpoints::status() {
  asked_phase_ = saver_.phases();
  return saver_.status();
}

void RunCheckpoints::advance(const checkpoint::SaveStatus& of_all) {
  if (asked_phase_ != saver_.phases()) return;        // a save has begun or ended since
  if (!saver_.advance(of_all)) best_ = best_before_;  // the best checkpoint was not saved
}

}  // namespace shoal::train

#include "shoal/checkpoint/saver.h"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <ATen/ATen.h>

#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/staged_part.h"
#include "shoal/checkpoint/together.h"
#include "shoal/comm/texts.h"
#include "shoal/core/activity.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/state/input_file.h"

namespace shoal::checkpoint {

namespace fs = std::filesystem;

// One save, from the copy to the commit. Its thread runs one phase at a time.
struct Saver::Save {
  enum class Phase { kWriting, kLooking, kCommitting, kRemoving };

  Phase phase = Phase::kWriting;
  SavedCheckpoint saved;
  state::Values values;
  AroundCommit around_commit;
  std::optional<state::UncommittedCheckpoint> uncommitted;  // on rank 0
  fs::path directory;
  std::string id;
  state::PartReport report;
  std::vector<std::string> reports;  // of all ranks, on rank 0
  std::optional<DataError> error;    // error of the phase, once it is done
  std::thread thread;
  std::atomic<bool> running = false;

  // Errors are reported later, on all ranks together: nothing may end the process here.
  template <class Work>
  void note_errors(const Work& work) {
    try {
      work();
    } catch (const DataError& e) {
      error = e;
    } catch (const std::exception& e) {
      error.emplace(e.what());
    }
  }

  template <class Work>
  void run(Work&& work) {
    note_errors([&] {
      running = true;
      thread = std::thread([this, work = std::forward<Work>(work)] {
        note_errors(work);
        running = false;
      });
    });
    if (!thread.joinable()) running = false;
  }
};

Saver::Saver(comm::World& world, fs::path root)
    : world_(world), root_(std::move(root)), part_(std::make_unique<StagedPart>()) {}

Saver::~Saver() { join_thread(); }

void Saver::prepare(const TrainingState& state) { part_->reserve(written_by(state)); }

bool Saver::idle() const { return !save_; }

void Saver::begin(uint64_t step,
                  const TrainingState& state,
                  const state::Values& values,
                  AroundCommit around_commit) {
  SHOAL_CHECK(idle(), "a save of step {} begins before another is over", step);
  const at::NoGradGuard no_grad;
  const auto began = Clock::now();
  auto save = std::make_unique<Save>();
  save->saved.step = step;
  save->values = values;
  save->around_commit = std::move(around_commit);
  together(world_, "a directory for a checkpoint", [&] {
    if (world_.rank() == 0) save->uncommitted.emplace(root_, step);
  });
  const auto told = [&](const std::string& mine) {
    return comm::text_of_first(world_, mine, "where to write");
  };
  save->id = told(save->uncommitted ? save->uncommitted->id() : "");
  save->directory = told(save->uncommitted ? save->uncommitted->directory().string() : "");

  const StagedPart& part = *part_;
  save->note_errors([&] { part_->take(written_by(state)); });
  save->saved.bytes = part.all_bytes();
  save->saved.copy_seconds = seconds_since(began);
  save_ = std::move(save);
  ++phases_;
  if (save_->error) return;
  save_->run([&part, rank = world_.rank(), &mine = *save_] {
    const auto writing = Clock::now();
    state::PartWriter writer(mine.directory, mine.id, rank, part.specs());
    for (size_t i = 0; i < part.specs().size(); ++i) writer.write(part.bytes(i));
    mine.report = writer.finish();
    mine.saved.write_seconds = seconds_since(writing);
  });
}

SaveStatus Saver::status() const {
  if (idle()) return {};
  const bool busy = save_->running;
  return {.busy = busy, .failed = !busy && save_->error.has_value()};
}

void Saver::join_thread() {
  if (!save_ || !save_->thread.joinable()) return;
  const Activity doing("waits until its part of a checkpoint is written", Pace::kOthers);
  save_->thread.join();
}

bool Saver::advance(const SaveStatus& of_all) {
  if (idle() || of_all.busy) return true;
  try {
    enter_next_phase();
    return true;
  } catch (const DataError& error) {
    if (world_.rank() == 0)
      log::warn("step {} is not saved, training goes on: {}", save_->saved.step, error.what());
    give_up();
    return false;
  }
}

void Saver::finish() {
  std::optional<DataError> failure;
  while (!idle()) {
    try {
      enter_next_phase();
    } catch (const DataError& error) {
      failure = error;
      give_up();
    }
  }
  if (failure) throw DataError(*failure);
}

void Saver::enter_next_phase() {
  join_thread();
  ++phases_;
  together(world_, "a save", [&] {
    if (save_->error && save_->phase != Save::Phase::kRemoving) throw DataError(*save_->error);
  });
  switch (save_->phase) {
    case Save::Phase::kWriting:
      return exchange_reports();
    case Save::Phase::kLooking:
      return commit();
    case Save::Phase::kCommitting:
    case Save::Phase::kRemoving:
      save_.reset();
  }
}

// Checks that other ranks see the files: each rank looks at those of the next one.
void Saver::exchange_reports() {
  const std::string mine = state::to_json(save_->report);
  const std::string of_next = world_.control().text_of_next(mine, "what the next rank wrote");
  save_->reports = world_.control().texts_to_first(mine, "what each rank wrote");
  const int rank = world_.rank();
  const int next = (rank + 1) % world_.size();
  save_->phase = Save::Phase::kLooking;
  save_->run([rank, next, text = of_next, directory = save_->directory] {
    for (const state::DataFile& file :
         state::part_report_from_json(text, format("rank {}", next)).files) {
      try {
        (void)state::InputFile(directory / file.name, file.bytes);
      } catch (const DataError& error) {
        throw DataError(
            format("rank {} does not see what rank {} wrote: {}; checkpoints must lie in a "
                   "directory that all hosts share",
                   rank, next, error.what()));
      }
    }
  });
}

void Saver::commit() {
  save_->phase = Save::Phase::kCommitting;
  if (world_.rank() != 0) return;
  save_->run([&mine = *save_] {
    std::vector<state::PartReport> reports;
    for (size_t rank = 0; rank < mine.reports.size(); ++rank)
      reports.push_back(state::part_report_from_json(mine.reports[rank], format("rank {}", rank)));
    if (mine.around_commit.before) mine.around_commit.before();
    mine.saved.path = mine.uncommitted->commit(mine.values, reports);
    if (!mine.around_commit.after) return;
    try {
      mine.around_commit.after(mine.saved);
    } catch (const std::exception& error) {
      log::warn("step {} is saved, but: {}", mine.saved.step, error.what());
    }
  });
}

// Removing the files of thousands of ranks takes a while, and nobody waits for that.
void Saver::give_up() {
  ++phases_;
  save_->phase = Save::Phase::kRemoving;
  save_->error.reset();
  save_->run([&mine = *save_] { mine.uncommitted.reset(); });
}

}  // namespace shoal::checkpoint

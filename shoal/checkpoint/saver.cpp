#include "shoal/checkpoint/saver.h"

#include <atomic>
#include <optional>
#include <thread>

#include <ATen/ATen.h>

#include "shoal/checkpoint/agreement.h"
#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/staged_part.h"
#include "shoal/comm/texts.h"
#include "shoal/core/log.h"
#include "shoal/core/units.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/state/input_file.h"

namespace shoal::checkpoint {

namespace fs = std::filesystem;

struct Saver::Memory {
  StagedPart part;
};

// One save, from the copy to the commit. The thread runs one phase of it at a time.
struct Saver::Save {
  enum class Phase { kWriting, kCommitting };

  Phase phase = Phase::kWriting;
  SavedCheckpoint saved;
  state::Values values;
  Committed committed;
  std::optional<state::UncommittedCheckpoint> uncommitted;  // on rank 0
  fs::path directory;
  std::string id;
  state::PartReport report;
  std::string error;  // of the phase, once it is done
  std::thread thread;
  std::atomic<bool> running = false;

  template <class Work>
  void run(Work&& work) {
    running = true;
    thread = std::thread([this, work = std::forward<Work>(work)] {
      try {
        work();
      } catch (const std::exception& e) {  // not only DataError: nothing may end the process here
        error = e.what();
      }
      running = false;
    });
  }
};

Saver::Saver(comm::World& world, fs::path root)
    : world_(world), root_(std::move(root)), memory_(std::make_unique<Memory>()) {}

Saver::~Saver() { join_thread(); }

void Saver::prepare(const TrainingState& state) { memory_->part.reserve(written_by(state)); }

bool Saver::idle() const { return !save_; }

void Saver::begin(uint64_t step,
                  const TrainingState& state,
                  const state::Values& values,
                  Committed committed) {
  SHOAL_CHECK(idle(), "a save of step {} begins before another is over", step);
  const at::NoGradGuard no_grad;
  const auto began = Clock::now();
  auto save = std::make_unique<Save>();
  save->saved.step = step;
  save->values = values;
  save->committed = std::move(committed);
  together(world_, "a directory for a checkpoint", [&] {
    if (world_.rank() == 0) save->uncommitted.emplace(root_, step);
  });
  const std::string first =
      save->uncommitted ? save->uncommitted->id() + save->uncommitted->directory().string() : "";
  const std::string told = comm::text_of_first(world_, first, "where to write");
  constexpr size_t kIdDigits = 32;
  save->id = told.substr(0, kIdDigits);
  save->directory = told.substr(kIdDigits);

  const StagedPart& part = memory_->part;
  memory_->part.take(written_by(state));
  save->saved.bytes = part.all_bytes();
  save->saved.copy_seconds = seconds_since(began);
  save_ = std::move(save);
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
  return {.busy = busy, .failed = !busy && !save_->error.empty()};
}

void Saver::join_thread() {
  if (save_ && save_->thread.joinable()) save_->thread.join();
}

void Saver::advance(const SaveStatus& of_all) {
  if (idle() || of_all.busy) return;
  join_thread();
  try {
    if (of_all.failed)
      together(world_, "a save", [&] {
        if (!save_->error.empty()) throw DataError(save_->error);
      });
    if (save_->phase == Save::Phase::kWriting) {
      report_and_commit();
      return;
    }
  } catch (const DataError& error) {
    if (world_.rank() == 0)
      log::warn("step {} is not saved, training goes on: {}", save_->saved.step, error.what());
  }
  save_.reset();
}

// What is written is seen by others: each rank looks at the files of the next one.
void Saver::report_and_commit() {
  const std::vector<std::string> texts =
      comm::all_texts(world_, state::to_json(save_->report), "what each rank wrote");
  together(world_, "a look at what was written", [&] {
    const auto next = static_cast<size_t>((world_.rank() + 1) % world_.size());
    for (const state::DataFile& file :
         state::part_report_from_json(texts[next], format("rank {}", next)).files) {
      try {
        (void)state::InputFile(save_->directory / file.name, file.bytes);
      } catch (const DataError& error) {
        throw DataError(
            format("rank {} does not see what rank {} wrote: {}; checkpoints must lie in a "
                   "directory that all "
                   "hosts share",
                   world_.rank(), next, error.what()));
      }
    }
  });
  save_->phase = Save::Phase::kCommitting;
  if (world_.rank() != 0) return;
  save_->run([texts, &mine = *save_] {
    std::vector<state::PartReport> reports;
    for (size_t rank = 0; rank < texts.size(); ++rank)
      reports.push_back(state::part_report_from_json(texts[rank], format("rank {}", rank)));
    mine.saved.path = mine.uncommitted->commit(mine.values, reports);
    if (mine.committed) mine.committed(mine.saved);
  });
}

void Saver::finish() {
  while (!idle()) {
    join_thread();
    try {
      together(world_, "a save", [&] {
        if (!save_->error.empty()) throw DataError(save_->error);
      });
      if (save_->phase == Save::Phase::kWriting) {
        report_and_commit();
        continue;
      }
    } catch (const DataError&) {
      save_.reset();
      throw;
    }
    save_.reset();
  }
}

}  // namespace shoal::checkpoint

#include <iostream>
#include <memory>

#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/state/checkpoint_store.h"

#include "app/checkpoint_commands.h"
#include "app/model_path.h"
#include "app/report.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxSteps = 2'000'000'000;

struct PruneWords {
  std::string run;
  int keep = 1;
  int every = 0;
  bool dry_run = false;
  bool json = false;
};

int64_t bytes_in(const fs::path& directory) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const uintmax_t size = fs::file_size(at->path(), gone);
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

void prune(const PruneWords& words) {
  const fs::path root = fs::path(words.run) / kCheckpoints;
  std::vector<state::Judged> all;
  if (std::error_code cannot_tell; fs::is_directory(root, cannot_tell))
    all = state::judge(root, {.keep = static_cast<size_t>(words.keep),
                              .every = static_cast<uint64_t>(words.every)});
  if (all.empty()) throw UsageError(format("'{}' is no run with checkpoints", words.run));
  Report report;
  Report::Section& section = report.section("checkpoints");
  int64_t freed = 0;
  int64_t removed = 0;
  const char* const verb = words.dry_run ? "would be removed" : "removed";
  for (const state::Judged& one : all) {
    const std::string name = one.checkpoint.path.filename().string();
    const int64_t bytes = bytes_in(one.checkpoint.path);
    if (one.why_kept.empty()) {
      if (!words.dry_run) state::remove(one.checkpoint);
      freed += bytes;
      ++removed;
    }
    section.add(
        name,
        Report::Named{{"kept", !one.why_kept.empty()}, {"why", one.why_kept}, {"bytes", bytes}},
        format("{:>10}  {}", format_bytes(bytes),
               one.why_kept.empty() ? verb : "kept: " + one.why_kept));
  }
  report.section("prune")
      .add("dry run", words.dry_run)
      .add("removed", removed, format("{} of {}", removed, all.size()))
      .add("bytes", freed, format("{} ({})", freed, format_bytes(freed)));
  std::cout << (words.json ? report.json() : report.text());
}

}  // namespace

void add_checkpoint_prune(Arguments& command) {
  const auto words = std::make_shared<PruneWords>();
  Arguments pruning =
      command.subcommand("prune", "remove old checkpoints of a run that is not being trained",
                         [words] { prune(*words); });
  pruning.footer(
      "  shoal checkpoint prune runs/small --keep 3 --every 10000 --dry-run\n\n"
      "The best by validation loss always stays, and so does what is damaged. A run that trains\n"
      "prunes by itself: train.keep and train.keep_every.");
  pruning.option("RUN", words->run, "directory of the run", {.shown = "DIR", .required = true});
  pruning.option("--keep", words->keep, "number of newest ones to keep",
                 {.shown = "K", .required = true, .range = {{1, kMaxSteps}}});
  pruning.option("--every", words->every, "and those of steps that N divides; 0 (default): none",
                 {.shown = "N", .range = {{0, kMaxSteps}}});
  pruning.flag("--dry-run", words->dry_run, "say what would be removed, and remove nothing");
  pruning.flag("--json", words->json, "as JSON");
}

}  // namespace shoal::app

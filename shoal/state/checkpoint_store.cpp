#include "shoal/state/checkpoint_store.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/error.h"
#include "shoal/core/file_error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/log.h"
#include "shoal/core/number_in.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_writer.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBestFile = "best.json";
constexpr const char* kRemovedMark = ".tmp-removed";
constexpr size_t kMaxBestBytes = 4096;

std::vector<fs::path> entries_of(const fs::path& root) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error && error != std::errc::no_such_file_or_directory) throw_file_error("list", root, error);
  return entries;
}

// The step whose directory has exactly this name.
std::optional<uint64_t> step_named(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto step = number_in<uint64_t>(std::string_view(name).substr(kPrefix.size()));
  return step && *step <= kMaxStep && name == step_directory(*step) ? step : std::nullopt;
}

bool holds(const CommittedCheckpoint& candidate) {
  try {
    const uint64_t step = Checkpoint(candidate.path, kSomeFiles).step();
    if (step == candidate.step) return true;
    log::warn("{} is passed over: it holds step {}", candidate.path.string(), step);
  } catch (const DataError& error) {
    if (error.exit_code() == ExitCode::kStorage) throw;
    log::warn("{} is passed over: {}", candidate.path.string(), error.what());
  }
  return false;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_file_error("remove", path, error);
}

}  // namespace

std::vector<CommittedCheckpoint> candidates_in(const fs::path& root) {
  std::vector<CommittedCheckpoint> found;
  for (const fs::path& path : entries_of(root)) {
    if (const auto step = step_named(path.filename().string())) found.push_back({*step, path});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return found;
}

std::vector<CommittedCheckpoint> checkpoints_in(const fs::path& root) {
  std::vector<CommittedCheckpoint> found = candidates_in(root);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const CommittedCheckpoint& one) { return !holds(one); }),
              found.end());
  return found;
}

std::optional<CommittedCheckpoint> latest(const fs::path& root) {
  const std::vector<CommittedCheckpoint> found = candidates_in(root);
  const auto newest = std::find_if(found.rbegin(), found.rend(), holds);
  if (newest == found.rend()) return std::nullopt;
  return *newest;
}

void mark_best(const fs::path& root, uint64_t step, double value) {
  SHOAL_CHECK(std::isfinite(value), "step {} cannot be the best with {}", step, value);
  if (const CommittedCheckpoint one{step, root / step_directory(step)}; !holds(one))
    throw DataError(
        format("{} cannot be marked as the best: it is no whole checkpoint", one.path.string()));
  write_file_atomically(root / kBestFile,
                        format("{{\"step\": {}, \"value\": {:.17g}}}\n", step, value));
}

std::optional<BestCheckpoint> best(const fs::path& root) {
  const fs::path path = root / kBestFile;
  std::error_code cannot_tell;
  if (!fs::exists(path, cannot_tell)) return std::nullopt;
  BestCheckpoint best;
  try {
    const json::Document document(read_file(path, kMaxBestBytes));
    const json::Fields fields(document.root(), "best");
    best.step = fields.number("step");
    if (best.step > kMaxStep || fields.require("value").get(best.value) != simdjson::SUCCESS)
      throw DataError("step and value are not numbers of a checkpoint");
  } catch (const DataError& error) {
    if (error.exit_code() == ExitCode::kStorage) throw;
    throw DataError(
        format("{}: {}; remove it to forget which was the best", path.string(), error.what()));
  }
  best.path = root / step_directory(best.step);
  if (!holds({best.step, best.path})) return std::nullopt;
  return best;
}

std::vector<Judged> judge(const fs::path& root, const Retention& retention) {
  SHOAL_CHECK(retention.keep > 0, "prune would remove the only way to go on");
  const std::optional<BestCheckpoint> marked = best(root);
  const std::vector<CommittedCheckpoint> found = checkpoints_in(root);
  const auto behind = std::find_if(found.begin(), found.end(),
                                   [&](const auto& one) { return one.step > retention.newest; });
  const auto counted = static_cast<size_t>(behind - found.begin());
  std::vector<Judged> judged;
  for (size_t i = 0; i < found.size(); ++i) {
    const uint64_t step = found[i].step;
    std::string why;
    if (i >= counted) {
      why = "later than the run";
    } else if (i + retention.keep >= counted) {
      why = format("of the newest {}", retention.keep);
    } else if (marked && marked->step == step) {
      why = "the best";
    } else if (retention.every > 0 && step % retention.every == 0) {
      why = format("a multiple of {}", retention.every);
    }
    judged.push_back({found[i], why});
  }
  return judged;
}

void remove(const CommittedCheckpoint& checkpoint) {
  const fs::path aside = checkpoint.path.string() + kRemovedMark;
  remove_tree(aside);  // of a process that was killed while it removed the same step
  std::error_code error;
  fs::rename(checkpoint.path, aside, error);
  if (error) throw_file_error("remove", checkpoint.path, error);
  remove_tree(aside);
}

std::vector<CommittedCheckpoint> prune(const fs::path& root, const Retention& retention) {
  std::vector<CommittedCheckpoint> removed;
  for (const Judged& one : judge(root, retention)) {
    if (!one.why_kept.empty()) continue;
    remove(one.checkpoint);
    removed.push_back(one.checkpoint);
  }
  return removed;
}

void restore_replaced(const fs::path& root) {
  for (const fs::path& path : entries_of(root)) {
    const std::string name = path.filename().string();
    const size_t mark = name.find(".tmp-");
    if (mark == std::string::npos || !name.ends_with(kReplacedMark)) continue;
    const fs::path old_name = root / name.substr(0, mark);
    if (!step_named(name.substr(0, mark)) || fs::exists(old_name)) continue;
    std::error_code error;
    fs::rename(path, old_name, error);
    if (error)
      throw DataError(
          format("cannot rename {} to {}: {}", path.string(), old_name.string(), error.message()));
    sync_directory(root);
    log::warn("{} has its name again: it was about to be replaced", old_name.string());
  }
}

void remove_unfinished(const fs::path& root) {
  for (const fs::path& path : entries_of(root)) {
    const std::string name = path.filename().string();
    const size_t mark = name.find(".tmp-");
    if (mark != std::string::npos && step_named(name.substr(0, mark))) remove_tree(path);
  }
}

}  // namespace shoal::state

// follow.h -- reads the metrics of a run while it writes them.
//
//   Follower follower("runs/small");
//   const Follower::New news = follower.read();
//   if (news.records_restarted) view = LiveView(total_steps);
//   for (const StepRecord& record : news.records) view.add(record);
//
// A row whose end is not written yet waits for the next call. A run that resumes cuts its files back
// and writes steps anew: the follower notices and begins from the start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/metrics/jsonl.h"
#include "shoal/metrics/step_record.h"

namespace shoal::metrics {

// A file that grows by lines.
class GrowingFile {
 public:
  explicit GrowingFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Calls `line` for each new complete line; calls `restart` before that when what was read before
  // is no longer in the file. A file that does not exist has no lines. Throws DataError for one that
  // cannot be read.
  void read(const std::function<void()>& restart,
            const std::function<void(std::string_view)>& line);

 private:
  std::filesystem::path path_;
  uint64_t read_ = 0;      // bytes of complete lines
  std::string last_line_;  // ends there; with its line end
};

class Follower {
 public:
  struct New {
    std::vector<StepRecord> records;
    std::vector<TextRecord> texts;
    bool records_restarted = false;  // those that came before are void
    bool texts_restarted = false;
  };

  // Follows the files of a run's directory, which may not exist yet.
  explicit Follower(const std::filesystem::path& directory)
      : records_(directory / "metrics.jsonl"), texts_(directory / "texts.jsonl") {}

  // Returns what came since the last call.
  New read();

 private:
  GrowingFile records_;
  GrowingFile texts_;
};

}  // namespace shoal::metrics

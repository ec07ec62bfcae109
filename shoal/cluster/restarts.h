// restarts.h -- decides whether a job that failed is started again, and when.
//
//   Restarts restarts({.most = 10});
//   while (true) {
//     const JobResult result = supervise(programs, options);
//     const Restarts::Verdict verdict = restarts.after(result);
//     if (!verdict.wait) return verdict.exit_code;
//     std::this_thread::sleep_for(*verdict.wait);
//   }
//
// What failed for good is not tried again: a wrong config, damaged data, a loss that diverges; bits
// that are wrong on a rank are, from the last checkpoint. A job that was asked to stop is not started
// either. A job that made progress since its last start is started at once; one that begins at the same
// step again waits longer each time, and is given up after three such cycles, because it will always
// fail there. Ranks that lost each other before a step, because a network is down, or found a disk full,
// also wait longer each time, and are not given up for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shoal/cluster/supervisor.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

struct RestartOptions {
  int most = 0;                                      // restarts; 0: none
  int cycles_without_progress = 3;                   // then it is given up
  Duration first_wait = std::chrono::seconds(1);     // before a restart without progress
  Duration longest_wait = std::chrono::seconds(60);  // it doubles up to this
};

// Returns whether another try may end otherwise: a rank was killed, a peer was lost, a thread was stuck,
// a disk was full, or shoal has a bug that shows now and then. Wrong bits are younger than the checkpoint that a job with
// steps goes on from; without steps, such as a comparison of layouts, they would be wrong again.
bool may_go_better(int exit_code, const StepsTold& steps);

// Tells the ranks of a job how often it was started again, and why.
inline constexpr const char* kRestartCountVariable = "SHOAL_RESTART_COUNT";
inline constexpr const char* kRestartCauseVariable = "SHOAL_RESTART_CAUSE";

class Restarts {
 public:
  struct Verdict {
    std::optional<Duration> wait = std::nullopt;  // before the restart; nothing: it is over
    int exit_code = 0;                            // of the job when it is over
    std::string note;                             // why it is over, or what is done; may be empty
  };

  explicit Restarts(const RestartOptions& options) : options_(options) {}

  Verdict after(const JobResult& result);

  // Decides on another process in the place of a rank that the job goes on without. Nothing when the
  // rank has ended in a way that fails the job.
  std::optional<Replacement> replacement(const RankEnd& end);

  [[nodiscard]] int count() const { return count_; }

 private:
  [[nodiscard]] Duration wait_after(int failures) const;

  RestartOptions options_;
  int count_ = 0;
  int without_progress_ = 0;  // cycles in a row
  int not_begun_ = 0;         // cycles in a row that ended before a step for a reason that may pass
  int not_called_ = 0;        // ranks in a row that failed before they finished a step
  std::optional<int64_t> first_before_;  // finished steps at the start of the cycle before
};

}  // namespace shoal::cluster

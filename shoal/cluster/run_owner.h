// run_owner.h -- one job at a time in a run's directory: two would train the same steps and remove each other's
// checkpoints.
//
//   RunOwner owner("runs/a", me, environment, {});      // UsageError: "runs/a belongs to job ... on n2 since ..."
//   if (owner.was_lost()) ...                           // it was taken over while this process was believed to be gone
//
// The directory holds a file `owner-N` that says who has it: job, host, process and time. It is created by link(2),
// which one of several contenders wins on NFS and Lustre too, where locks are not to be relied on. The next owner makes
// N + 1, so nobody ever removes a file that might be another one's, and the highest number counts. Every few seconds
// the owner touches its file.
//
// An owner is gone when its process is, on the same host; when the scheduler has started its job again; or when
// its file is not touched for a while, which is watched by this process's own clock. Otherwise it is taken over only when
// that is asked for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/core/units.h"

namespace shoal::cluster {

struct RunOwnerOptions {
  bool take_over = false;                   // whoever has it
  Duration beat = std::chrono::seconds(5);  // between touches
  Duration patience =
      std::chrono::seconds(30);  // with an owner of another host that does not touch its file
};

class RunOwner {
 public:
  // The directory is there. UsageError when it is another one's.
  RunOwner(std::filesystem::path directory,
           const Membership& me,
           const Environment& environment,
           const RunOwnerOptions& options);
  RunOwner(const RunOwner&) = delete;
  RunOwner& operator=(const RunOwner&) = delete;
  // Gives it back.
  ~RunOwner();

  // Whether another process has taken over, as of the last touch. Costs nothing.
  [[nodiscard]] bool was_lost() const { return lost_; }
  // As of now: looks at the directory. From any thread, as the above.
  [[nodiscard]] bool owns() const;

 private:
  void beat(Duration every);
  [[nodiscard]] std::filesystem::path file() const;

  const std::filesystem::path directory_;
  uint64_t number_ = 0;
  std::string content_;  // of the file
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::atomic<bool> lost_ = false;
  std::thread thread_;
};

}  // namespace shoal::cluster

// run_owner.h -- ensures that one job at a time uses a run's directory: two would train the same
// steps and remove each other's checkpoints.
//
//   RunOwner owner("runs/a", me, environment, {});      // UsageError: "runs/a belongs to job ... on n2 since ..."
//   if (owner.was_lost()) ...                           // it was taken over while this process was believed to be gone
//
// The directory holds a file `owner-N` that names its owner: job, host, process and time. It is
// created by link(2), which exactly one of several contenders wins on NFS and Lustre too, where
// locks are not reliable. The next owner creates N + 1, so nobody ever removes a file that might be
// another one's, and the highest number counts. The owner touches its file every few seconds.
//
// An owner counts as gone when its process on the same host has ended; when the scheduler has
// restarted its job; when it is of an earlier start of the same job, whose launcher may be gone; or
// when its file is not touched for a while, by this process's own clock: also after a host was started
// again, because hosts may share a name. Otherwise the directory is taken over only if `take_over` asks
// for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

struct RunOwnerOptions {
  bool take_over = false;                   // take the directory from any owner
  Duration beat = std::chrono::seconds(5);  // time between touches
  // How long to wait for an owner on another host that does not touch its file.
  Duration patience = std::chrono::seconds(30);
};

class RunOwner {
 public:
  // Takes an existing directory. Throws UsageError when another job owns it, and DataError when the
  // owner's file cannot be read.
  RunOwner(std::filesystem::path directory,
           const Membership& me,
           const Environment& environment,
           const RunOwnerOptions& options);
  RunOwner(const RunOwner&) = delete;
  RunOwner& operator=(const RunOwner&) = delete;
  // Gives the directory back.
  ~RunOwner();
  // The same, on any thread, for a process that is about to end without destroying this.
  void give_back() const;

  // Returns whether another process has taken over, as of the last touch. Costs nothing.
  [[nodiscard]] bool was_lost() const { return lost_; }
  // Returns whether this process owns the directory now: reads the directory. Both may be called
  // from any thread.
  [[nodiscard]] bool owns() const;

 private:
  void beat(Duration every);
  // Whether this process owns the directory; nothing when the file system does not say.
  [[nodiscard]] std::optional<bool> look() const;
  [[nodiscard]] std::filesystem::path file() const;

  const std::filesystem::path directory_;
  uint64_t number_ = 0;
  std::string content_;  // content of the file
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::atomic<bool> lost_ = false;
  std::thread thread_;
};

// The owner of a run's directory as somebody sees it who only watches.
struct OwnerSeen {
  std::string described;  // "job 17 on n1 (process 4711) since 2026-11-17 14:20:03 UTC"
  bool gone = false;      // it ended without giving the directory back
};

// Returns nothing when the directory has no owner. An owner on another host counts as gone when it has
// not touched its file for `patience`. Throws DataError when the directory cannot be read.
std::optional<OwnerSeen> owner_of(const std::filesystem::path& directory,
                                  Duration patience = std::chrono::seconds(30));

}  // namespace shoal::cluster

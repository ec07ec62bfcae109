// rank_lock.h -- lets one process at a time prepare as one rank: a second one would do the same
// parts again and remove the files that the first one is writing.
//
//   const RankLock lock("tokens", rank, world_size);
//
// The file `preparation.lock`, which is always empty, has a byte for each rank of each number of
// ranks, and the kernel locks it for the process: however that ends, the lock ends with it. Ranks of
// one preparation lock bytes of their own; those of another number of ranks are refused. NFS has the
// same locks on all hosts, and Lustre when it is mounted with `flock`. Where a lock reaches no other
// host, or there is none, two processes write the same bytes under names of their own: one of them
// may end with an error, but no file is wrong. So a run's owner (cluster/run_owner.h), which must
// not be doubled, costs a thread and a heartbeat, and this does not.
#pragma once

#include <filesystem>

#include "shoal/core/files.h"

namespace shoal::prepare {

class RankLock {
 public:
  // Throws UsageError when another process still has it after two seconds: whoever starts a job
  // anew right after killing it finds the old one dying. Logs a warning where there are no locks.
  RankLock(const std::filesystem::path& directory, int rank, int world_size);

 private:
  UniqueFd fd_;
};

}  // namespace shoal::prepare

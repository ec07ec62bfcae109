// session.h -- MPI in this process: started once, ended when the last communicator is gone. Private
// to comm/mpi/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

namespace shoal::comm {

// Throws std::runtime_error with MPI's own words; c10d carries it to whoever waits, who makes a
// PeerLost of it.
void check_mpi(int code, const char* call);

class MpiSession {
 public:
  // UsageError without MPI_THREAD_MULTIPLE. At most `max_tags` are used, though there may be more.
  explicit MpiSession(int max_tags);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  // MPI_Finalize waits for the other ranks, so it is skipped when an error is on its way out.
  ~MpiSession();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // How many tags this MPI has; the standard promises 32,768.
  [[nodiscard]] int tags() const { return tags_; }

  // A communicator of these ranks; collective over them alone. `tag` tells concurrent creations
  // apart.
  [[nodiscard]] MPI_Comm make_communicator(const std::vector<int>& ranks, int tag) const;

 private:
  int rank_ = 0;
  int size_ = 1;
  int tags_ = 32'768;
};

}  // namespace shoal::comm

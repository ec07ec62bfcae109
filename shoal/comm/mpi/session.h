// session.h -- the MPI library in this process: initialized once, finalized when the last
// communicator is gone. Private to comm/mpi/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

namespace shoal::comm {

// Throws std::runtime_error with MPI's own words; c10d carries it to the waiting thread, which
// turns it into a PeerLost.
void check_mpi(int code, const char* call);

class MpiSession {
 public:
  // Throws UsageError without MPI_THREAD_MULTIPLE. At most `max_tags` tags are used, even if MPI
  // has more.
  explicit MpiSession(int max_tags);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  // Skips MPI_Finalize during exception unwinding, because it would wait for the other ranks.
  ~MpiSession();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // Returns how many tags this MPI has; the standard promises 32,768.
  [[nodiscard]] int tags() const { return tags_; }

  // Returns a communicator of these ranks; collective over them alone. `tag` distinguishes
  // concurrent creations.
  [[nodiscard]] MPI_Comm make_communicator(const std::vector<int>& ranks, int tag) const;

 private:
  int rank_ = 0;
  int size_ = 1;
  int tags_ = 32'768;
};

}  // namespace shoal::comm

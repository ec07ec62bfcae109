// A communicator: one rank's end of the memory that the ranks share, and the state that NCCL's calls report.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "shared.h"

namespace softcuda {

class Communicator {
 public:
  // Comes back when all ranks are there. False when the state is an error.
  bool open(const std::string& name, int rank, int ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int device() const { return device_; }
  void set_device(int device) { device_ = device; }
  const std::string& name() const { return name_; }
  const Shared& shared() const { return shared_; }

  // Waits until `done`, which may be asked often. False when the communicator was aborted. A peer that died, or an
  // error of another task, does not end the wait: NCCL's kernel would go on as well, until it is aborted.
  bool wait_until(const std::function<bool()>& done);

  // All ranks come to the same point: of their streams, or of their hosts. False when aborted; a meeting of hosts also
  // ends with an error.
  bool meet();
  bool host_meet();

  // The state that ncclCommGetAsyncError tells. The first error stays.
  ncclResult_t state() const { return state_; }
  void set_state(ncclResult_t state) { state_ = state; }
  void fail(ncclResult_t error, const std::string& why);
  std::string error() const;

  // NCCL runs the calls of one communicator in the order in which they were made, whatever streams they name. Makes `stream` wait for
  // the stream of the call before, when it was another one.
  void order_behind_last(cudaStream_t stream);

  void abort() { aborted_ = true; }

  // Operations with a factor, made by ncclRedOpCreatePreMulSum.
  ncclRedOp_t add_factor(double factor);
  double factor_of(int operation) const;

  // Splits of this communicator happen one after the other, in the order of the calls.
  uint64_t next_split() { return ++splits_begun_; }
  bool wait_for_split(uint64_t number);
  void end_split() { ++splits_ended_; }

 private:
  void look_for_the_dead();
  bool host_wait(const std::function<bool()>& done);

  std::string name_;
  int rank_ = 0, ranks_ = 0, device_ = 0;
  Shared shared_;
  cudaStream_t last_stream_ = nullptr;
  bool was_called_ = false;
  uint64_t meetings_ = 0;       // of this stream's tasks
  uint64_t host_meetings_ = 0;  // by splits, which take turns
  std::atomic<uint64_t> splits_begun_{0}, splits_ended_{0};
  std::atomic<bool> aborted_{false};
  std::atomic<ncclResult_t> state_{ncclSuccess};
  mutable std::mutex mutex_;
  std::string error_;            // by mutex_
  std::vector<double> factors_;  // by mutex_
};

inline Communicator* communicator_of(ncclComm_t handle) {
  return reinterpret_cast<Communicator*>(handle);
}

}  // namespace softcuda

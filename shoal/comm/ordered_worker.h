// ordered_worker.h -- a thread that runs communication calls in the order of their requests.
// Private to comm/.
//
//   auto work = worker.run({tensor}, [=] { MPI_Allreduce(...); });
//   work->wait(timeout);
//
// It serves backends whose calls block: the caller goes on, and the calls of a group keep the order
// that all its ranks agree on. An exception of a call is rethrown by wait() of its work.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "shoal/core/activity.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

class OrderedWorker {
 public:
  // `name` is the thread's name on the activity board, if one is given.
  OrderedWorker(std::string name, ActivityBoard* board);
  OrderedWorker(const OrderedWorker&) = delete;
  OrderedWorker& operator=(const OrderedWorker&) = delete;

  // Waits for queued calls; a call that hangs because a peer is gone is left behind with its
  // thread.
  ~OrderedWorker();

  c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, std::function<void()> call);

 private:
  struct Queue;

  static void serve(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;  // shared with the thread, which may outlive us
};

// Returns when the call of an OrderedWorker's work was over, as a count of Clock that is 0 until then; nullptr for
// other works.
const std::atomic<Clock::rep>* ended_at(const c10d::Work& work);

// Returns a work that is already done.
c10::intrusive_ptr<c10d::Work> finished_work();

}  // namespace shoal::comm

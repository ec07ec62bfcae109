// ordered_worker.h -- one thread that runs communication in the order it was asked for. Private to
// comm/.
//
//   auto work = worker.run({tensor}, [=] { MPI_Allreduce(...); });
//   work->wait(timeout);
//
// For backends whose calls block: the caller goes on, and the calls of a group keep the order that
// all its ranks agree on. An exception of a call arrives where its work is waited for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "shoal/core/activity.h"

namespace shoal::comm {

class OrderedWorker {
 public:
  // `name` and, if given, the board are for the hang report.
  OrderedWorker(std::string name, ActivityBoard* board);
  OrderedWorker(const OrderedWorker&) = delete;
  OrderedWorker& operator=(const OrderedWorker&) = delete;

  // Waits for what is queued; a call that hangs because a peer is gone is left behind with its
  // thread.
  ~OrderedWorker();

  c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, std::function<void()> call);

 private:
  struct Queue;

  static void serve(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;  // shared with the thread, which may outlive us
};

// A work that is done already.
c10::intrusive_ptr<c10d::Work> finished_work();

}  // namespace shoal::comm

// replica_check.h -- finds ranks that hold other bits than their replicas: a bit of a weight has
// flipped, or a rank has computed another update from the same gradients.
//
//   ReplicaCheck check(model, ranks);
//   check.differences(world);    // {"rank 5 on n2 holds other bits of blocks.3.mlp.up.weight than its replicas 1, 9"}
//
// replica_copies.h lists the compared tensors. Each rank hashes them to one number, and its group
// all-reduces the maximum and the minimum. Only if these differ are single tensors compared.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/parallel/ranks.h"
#include "shoal/parallel/replica_copies.h"

namespace shoal::parallel {

// A tensor whose bits differ between ranks of a group. If a majority is equal, `odd` lists the
// other ranks; otherwise `odd` lists all ranks, and `equal` is empty.
struct Difference {
  std::string tensor;
  std::vector<int> odd;
  std::vector<int> equal;

  bool operator==(const Difference&) const = default;
};

// Returns the difference between ranks of which each has a number for the tensor; nothing when all
// are equal.
std::vector<Difference> difference_of(const std::string& tensor,
                                      const std::vector<int>& ranks,
                                      const std::vector<int64_t>& numbers);

class ReplicaCheck {
 public:
  // `model`, which is trained, and `ranks` outlive the check.
  ReplicaCheck(const ParallelModel& model, const Ranks& ranks)
      : model_(model), copies_(model, ranks) {}

  // Returns lines that name the ranks with other bits, the same on all ranks; nothing when all are
  // equal. Waits for the device. Collective.
  [[nodiscard]] std::vector<std::string> differences(comm::World& world) const;

 private:
  const ParallelModel& model_;
  ReplicaCopies copies_;
};

}  // namespace shoal::parallel

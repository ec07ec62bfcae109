// unit_group.h -- the weights and gradients of a group of units, sharded over data-parallel ranks.
//
// All weights of the group lie in one flat tensor, cut into as many equal shards as there are
// ranks:
//
//     rank 0        rank 1        rank 2
//   [ a a a a b | b b c c c c | c d d d 0 ]      0: padding, so that all shards are equal
//
// Between steps a rank has its shard, with its gradient and optimizer state, and whole weights only
// where the plan keeps them. Each method below is an operation of a step's program
// (plan/program.h), which says when to gather, release and reduce. DDP, ZeRO-1, 2, 3, FSDP and HSDP
// are programs of these operations.
//
// Ranks of `shards` hold different shards of one replica; ranks of `replicas` hold the same shard
// of different replicas, whose gradients are summed once a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/comm/group.h"
#include "shoal/model/weights.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::parallel {

struct DataRanks {
  comm::Group shards;
  comm::Group replicas;
};

class UnitGroup {
 public:
  // The shard is a view of the whole weights where the plan keeps them whole.
  UnitGroup(std::vector<model::UnitWeights*> units,
            const plan::GroupPlan& plan,
            const DataRanks& ranks,
            const model::Materials& materials);
  UnitGroup(const UnitGroup&) = delete;
  UnitGroup& operator=(const UnitGroup&) = delete;
  ~UnitGroup();

  [[nodiscard]] const std::string& name() const { return name_; }

  // ---- weights ----
  void start_gather();
  void await_gather();
  void release();

  // ---- gradients ----
  void open_gradients();
  // Zeroes gradients that were not written. May be called repeatedly.
  void close_gradients();
  // Returns the gradients of this rank's samples, between open_gradients() and the reduction.
  [[nodiscard]] const at::Tensor& whole_gradient() const { return whole_gradient_; }
  // `adds` accumulates to the gradients of earlier micro-batches.
  void start_reduce(bool adds);
  void await_reduce();
  void start_replicas();
  void await_replicas();

  // ---- between steps ----
  [[nodiscard]] const at::Tensor& shard() const { return shard_; }
  [[nodiscard]] const at::Tensor& shard_gradient() const { return shard_gradient_; }
  // Returns the whole weights; undefined where they are not there, or arriving before settle().
  [[nodiscard]] const at::Tensor& whole() const { return whole_; }
  // Waits for a gather in flight: the shard may be written afterwards.
  void settle();

 private:
  void lend(const at::Tensor& whole);
  [[nodiscard]] bool is_one_shard() const { return ranks_.shards.size() == 1; }
  [[nodiscard]] int64_t whole_elements() const { return elements_ * ranks_.shards.size(); }

  std::string name_;
  std::vector<model::UnitWeights*> units_;
  DataRanks ranks_;
  int64_t elements_;  // elements of a shard

  at::Tensor shard_;
  at::Tensor whole_;  // whole weights, complete or arriving
  comm::Pending gathering_;

  at::Tensor whole_gradient_;
  at::Tensor shard_gradient_;
  at::Tensor arriving_;  // a shard that is accumulated to earlier micro-batches
  comm::Pending reduction_;
  comm::Pending replication_;
};

}  // namespace shoal::parallel

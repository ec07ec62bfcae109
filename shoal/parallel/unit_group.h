// unit_group.h -- the weights and gradients of some units, divided among data-parallel ranks.
//
// All weights of the group lie in one flat tensor, cut into as many equal shards as there are ranks:
//
//     rank 0        rank 1        rank 2
//   [ a a a a b | b b c c c c | c d d d 0 ]      0: padding, so that all shards are equal
//
// Between steps a rank has its shard, and the optimizer's state of it, and nothing else. Each method below is an operation of a
// step's program (plan/program.h), which says what is gathered, released and reduced when. Everything that people call DDP,
// ZeRO-1, 2, 3, FSDP and HSDP is a program of these.
//
// Ranks of `shards` hold different shards of one copy; ranks of `replicas` hold the same shard of other
// copies, whose gradients are added up once a step.
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
  // Where the plan keeps weights whole the shard is a view of them.
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
  // What nobody has written is zero from here on. As often as one likes.
  void close_gradients();
  // `adds`: to what earlier micro-batches left.
  void start_reduce(bool adds);
  void await_reduce();
  void start_replicas();
  void await_replicas();

  // ---- between steps ----
  [[nodiscard]] const at::Tensor& shard() const { return shard_; }
  [[nodiscard]] const at::Tensor& shard_gradient() const { return shard_gradient_; }
  // No gather is under way any more: the shard may be written.
  void settle();

 private:
  void lend(const at::Tensor& whole);
  [[nodiscard]] bool is_one_shard() const { return ranks_.shards.size() == 1; }
  [[nodiscard]] int64_t whole_elements() const { return elements_ * ranks_.shards.size(); }

  std::string name_;
  std::vector<model::UnitWeights*> units_;
  DataRanks ranks_;
  int64_t elements_;  // of a shard

  at::Tensor shard_;
  at::Tensor whole_;  // there, or on its way
  comm::Pending gathering_;

  at::Tensor whole_gradient_;
  at::Tensor shard_gradient_;
  at::Tensor arriving_;  // a shard that is added to what earlier micro-batches left
  comm::Pending reduction_;
  comm::Pending replication_;
};

}  // namespace shoal::parallel

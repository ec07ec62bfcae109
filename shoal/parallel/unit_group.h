// unit_group.h -- the weights and gradients of some units, divided among data-parallel ranks.
//
// All weights of the group lie in one flat tensor, cut into as many equal shards as there are ranks:
//
//     rank 0        rank 1        rank 2
//   [ a a a a b | b b c c c c | c d d d 0 ]      0: padding, so that all shards are equal
//
// Between steps a rank has its shard, and the optimizer's state of it, and nothing else. For the forward
// pass the shards are gathered, and freed again; for the backward pass once more. The gradient is whole
// while it is computed, then added up over the ranks so that each gets its shard of the sum:
//
//   open() ... forward ... close()       open() open_gradients() ... backward ... close() reduce() finish()
//
// Everything that people call DDP, ZeRO-1, 2, 3, FSDP and HSDP is this, with other answers to the questions
// of Policy. Gathering and reducing run behind the computation: prefetch() starts a gather that open()
// waits for, finish() waits for what reduce() started.
//
// Ranks of `shards` hold different shards of one copy; ranks of `replicas` hold the same shard of other
// copies, whose gradients are added up once a step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/blueprint/flat_layout.h"
#include "shoal/comm/group.h"
#include "shoal/model/weights.h"
#include "shoal/optim/optimizer.h"
#include "shoal/plan/sharding.h"

namespace shoal::parallel {

using Policy = plan::ShardingPolicy;

struct DataRanks {
  comm::Group shards;
  comm::Group replicas;
};

// Elements of a weight in this rank's shard.
using Piece = blueprint::FlatPiece;

// The elements of a piece, from the whole logical tensor.
at::Tensor part_of(const at::Tensor& whole, const Piece& piece);

enum class Direction { kForward, kBackward };

class UnitGroup {
 public:
  UnitGroup(std::vector<model::UnitWeights*> units,
            const DataRanks& ranks,
            const Policy& policy,
            const model::Materials& materials);
  UnitGroup(const UnitGroup&) = delete;
  UnitGroup& operator=(const UnitGroup&) = delete;
  ~UnitGroup();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }

  // ---- weights ----
  void prefetch();
  void open();
  void close(Direction direction);

  // ---- gradients ----
  // Before the backward pass of a micro-batch.
  void open_gradients();
  // After it. Nothing happens when the gradients are kept and this is not the last micro-batch. `complete`
  // is called first for each unit when something does: for what others add to whole gradients.
  void reduce(bool last_micro_batch, const std::function<void(model::UnitWeights&)>& complete);
  // What reduce() started is over, and the whole gradient freed.
  void finish();
  // After all micro-batches: replicas have added up, too.
  void complete();

  // ---- between steps ----
  [[nodiscard]] const at::Tensor& shard() const { return shard_; }
  [[nodiscard]] const at::Tensor& shard_gradient() const { return shard_gradient_; }
  // In the order of the shard; between them is padding.
  [[nodiscard]] std::vector<Piece> pieces() const;
  // Which of the ranks this is that have the same shard.
  struct Copy {
    int rank = 0;
    int copies = 1;
    int64_t elements = 0;  // of the shard
  };
  [[nodiscard]] Copy copy() const {
    return {ranks_.replicas.rank(), ranks_.replicas.size(), elements_};
  }
  // No gather is under way any more.
  void settle();
  // The shard is another than it was. To be called before anything above when weights were not made new.
  void changed();

 private:
  void start_gather();
  void lend(const at::Tensor& whole);
  [[nodiscard]] bool alone() const { return ranks_.shards.size() == 1; }

  std::string name_;
  std::vector<model::UnitWeights*> units_;
  DataRanks ranks_;
  Policy policy_;
  model::Materials materials_;
  int64_t elements_ = 0;  // of a shard
  int64_t first_ = 0;     // of this rank's shard

  at::Tensor shard_;
  at::Tensor whole_;  // there, or on its way
  bool lent_ = false;
  comm::Pending gathering_;

  at::Tensor whole_gradient_;
  at::Tensor shard_gradient_;
  at::Tensor arriving_;  // a shard that is added to what earlier micro-batches left
  bool reduced_before_ = false;
  bool reducing_ = false;
  bool last_ = false;
  comm::Pending reduction_;
  comm::Pending replication_;
};

}  // namespace shoal::parallel

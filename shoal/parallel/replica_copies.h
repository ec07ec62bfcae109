// replica_copies.h -- the tensors of a rank that other ranks hold equal to the bit, and which ranks
// those are.
//
//   ReplicaCopies copies(model, ranks);
//   for (const Copies& each : copies.of(Grain::kWeight)) each.group.size();
//
// They are, on
//   replicas of a shard            its weights, master weights and moments, and the optimizer's counts
//   tensor-parallel ranks          the same of weights that all of them have whole, such as norms
//   ranks that shard a replica     the weights, where the strategy keeps them whole
//
// They are equal because every rank computes them from the same numbers in the same order. Left out
// are weights that lie at different places in the shards of tensor-parallel ranks that split
// unevenly, or at both ends of a pipeline: sums over ranks may have another order there.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/group.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/parallel/ranks.h"

namespace shoal::parallel {

// Few long tensors, to see whether anything differs; or each weight, to say what.
enum class Grain { kFlat, kWeight };

// What all ranks of a group hold.
struct Copies {
  struct Piece {
    std::string name;
    at::Tensor bits;
  };

  comm::Group group;
  std::vector<Piece> pieces;
};

class ReplicaCopies {
 public:
  // `model`, which is trained, and `ranks` outlive the copies.
  ReplicaCopies(const ParallelModel& model, const Ranks& ranks);

  // Returns views of the model's tensors, in groups of more than one rank. No gather is under way:
  // see ParallelModel::settle().
  [[nodiscard]] std::vector<Copies> of(Grain grain) const;

 private:
  void append_replicas(Grain grain, std::vector<Copies::Piece>& pieces) const;
  void append_gathered(Grain grain, std::vector<Copies::Piece>& pieces) const;

  const ParallelModel& model_;
  const Ranks& ranks_;
  std::vector<plan::Holding> on_tensor_ranks_;  // what all tensor-parallel ranks hold
};

}  // namespace shoal::parallel

// planned_job.h -- plans and programs of ranks of one job. The schedule and the order of its transfers
// are worked out once for all of them.
//
//   const PlannedJob job(config, mesh_of(config.parallel, 16'384));
//   const PlannedRank rank = job.rank(5);
//   rank.plan, rank.program
#pragma once

#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/program.h"
#include "shoal/plan/transfer_order.h"

namespace shoal::plan {

struct PlannedRank {
  RankPlan plan;
  Program program;  // of a training step
};

class PlannedJob {
 public:
  // `config` has been checked for the ranks of the mesh, and model.vocab_size is set.
  PlannedJob(config::RunConfig config, Mesh mesh);

  [[nodiscard]] const config::RunConfig& config() const { return config_; }
  [[nodiscard]] const Mesh& mesh() const { return mesh_; }

  [[nodiscard]] PlannedRank rank(int rank) const;
  // Returns a rank of each pipeline stage: the first, or where data-parallel ranks have uneven shares
  // of the batch, one with the largest.
  [[nodiscard]] std::vector<int> busiest_ranks() const;
  [[nodiscard]] std::vector<PlannedRank> stages() const;  // of these ranks

 private:
  config::RunConfig config_;
  Mesh mesh_;
  Schedule schedule_;
  TransferOrder order_;
};

}  // namespace shoal::plan

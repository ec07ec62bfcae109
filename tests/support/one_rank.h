// one_rank.h -- a model on one rank: the layout in which every group has one member.
#pragma once

#include <memory>

#include "shoal/comm/world.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::tests {

class OneRank {
 public:
  OneRank(const config::RunConfig& config, const model::Materials& materials)
      : world_(comm::World::record(/*rank=*/0, /*world_size=*/1, nullptr)),
        ranks_(parallel::Ranks::alone(*world_)),
        model_(config, ranks_, materials) {}

  [[nodiscard]] parallel::ParallelModel& model() { return model_; }
  [[nodiscard]] comm::World& world() { return *world_; }

 private:
  std::unique_ptr<comm::World> world_;
  parallel::Ranks ranks_;
  parallel::ParallelModel model_;
};

}  // namespace shoal::tests

// layout_bounds.h -- the least time and memory that a layout takes, in closed form: a microsecond for
// each, so that a search can leave most layouts out without a run of their programs.
//
//   LayoutBounds bounds(config, cluster);
//   bounds.of(choice).seconds           // at most what step_time() returns
//   bounds.of(choice).bytes             // at most what the fullest rank has
//
// Time: a rank computes its micro-batches after the stages before it have done their first and before
// they do their last, and each group's calls run one after the other. Memory: the state, and
// activations of the micro-batches that the first stage has under way.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/choice.h"

namespace shoal::plan {

struct LeastOf {
  double seconds = 0;
  int64_t bytes = 0;  // of tensors
};

class LayoutBounds {
 public:
  // model.vocab_size is set.
  LayoutBounds(config::RunConfig config, config::ClusterConfig cluster);

  LeastOf of(const Choice& choice);

 private:
  // A unit on one of tp ranks, for one micro-batch.
  struct UnitCost {
    double seconds = 0;    // of forward, backward and recomputation, with calls of the tensor group
    int64_t elements = 0;  // of weights
    int64_t kept = 0;      // bytes of activations from forward to backward
  };
  struct ModelCost {
    UnitCost embedding;
    UnitCost block;
    UnitCost head;
  };

  const ModelCost& cost_of(const Choice& choice);
  [[nodiscard]] double pipeline_seconds(const Choice& choice,
                                        const ModelCost& cost,
                                        int64_t micro_batches) const;
  [[nodiscard]] double data_seconds(const Choice& choice,
                                    double elements,
                                    int64_t micro_batches) const;
  [[nodiscard]] int64_t bytes_of(const Choice& choice,
                                 const ModelCost& cost,
                                 int64_t micro_batches) const;

  config::RunConfig config_;
  config::ClusterConfig cluster_;
  std::map<std::tuple<int, int64_t, config::Recompute>, ModelCost> known_;
};

}  // namespace shoal::plan

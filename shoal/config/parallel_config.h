// parallel_config.h -- how the ranks of a run are arranged.
//
// The degrees multiply: dp_replicate * dp_shard * cp * pp * tp ranks take part, one for each place
// in the grid. check.h compares the product with the ranks that exist.
#pragma once

#include <optional>

#include "shoal/config/rule.h"
#include "shoal/core/limits.h"

namespace shoal::config {

constexpr int kMaxStages = 4096;       // of a pipeline, and of a split sequence
constexpr int kMaxTensorRanks = 1024;  // larger than any node or NVLink domain

struct ParallelConfig {
  int dp_replicate = 1;
  std::optional<int> dp_shard = std::nullopt;
  int cp = 1;
  int pp = 1;
  int tp = 1;

  // The one list of fields. Parsing, --set, help, docs/config.md, the JSON Schema, printing and
  // equality all walk it, so a knob cannot exist in one of them and be missing from another.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("dp_replicate", self.dp_replicate,
          "copies of the whole model, each fed different batches", between(1, kMaxRanks));
    visit("dp_shard", self.dp_shard,
          "ranks that share one copy of the weights and the optimizer, each fed different batches; "
          "auto: the ranks that the other degrees leave",
          between(1, kMaxRanks));
    visit("cp", self.cp, "ranks that split every sequence", between(1, kMaxStages));
    visit("pp", self.pp, "pipeline stages that the layers are cut into", between(1, kMaxStages));
    visit("tp", self.tp, "ranks that split every matmul; keep them inside one node",
          between(1, kMaxTensorRanks));
  }
};

}  // namespace shoal::config

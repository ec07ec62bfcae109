// cost.h -- the seconds that operations of a program take on a device of a cluster.
//
//   const Costs costs(cluster, plan);
//   costs.compute(operation).total()        // of a forward pass, without its communication
//   costs.of(call)                          // of one collective or transfer
//
// Products take as long as their operations, at a share of the peak that grows with their size, or
// as their bytes, whichever is longer. All else in a unit moves bytes: each tensor that a forward
// pass leaves is written and read once, and in a backward pass it is read, and its gradient written
// and read. Where a cluster file holds what was measured (config::MeasuredSpec), that goes before the
// shares. Collectives are rings: latency for each step, and bytes by bandwidth.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "shoal/blueprint/products.h"
#include "shoal/config/cluster_config.h"
#include "shoal/plan/nodes.h"
#include "shoal/plan/program.h"
#include "shoal/plan/volume.h"

namespace shoal::plan {

// Seconds by what limits them.
struct ComputeSeconds {
  double products = 0;
  double attention = 0;
  double memory = 0;  // with the launches of functions

  [[nodiscard]] double total() const { return products + attention + memory; }
};

// Returns the functions that a unit's pass calls, each of which takes a host's time: those that the
// tests on fake GPUs count in a block, 35 of GPT-2 and 45 of Llama forward and backward; about so
// many of embedding and head.
int launches_of(config::UnitKind kind, const config::ModelConfig& model, bool backward);

class Costs {
 public:
  // Valid as long as `plan`.
  Costs(const config::ClusterConfig& cluster, const RankPlan& plan);
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

  // Returns the seconds of an operation's own work; 0 for those that only communicate.
  [[nodiscard]] ComputeSeconds compute(const Operation& operation) const;

  // Returns the seconds of a call, once all its ranks are there.
  [[nodiscard]] double of(const OperationCall& call) const;

  // Returns how much of that is missing to the computation that runs beside the call.
  [[nodiscard]] double taken_by(const OperationCall& call) const;

 private:
  [[nodiscard]] ComputeSeconds of_unit(const Operation& operation) const;
  [[nodiscard]] double of_product(const blueprint::Product& product, int64_t rows) const;
  [[nodiscard]] double of_attention(const Operation& operation) const;
  [[nodiscard]] double of_functions(const Operation& operation, double attention_bytes) const;
  [[nodiscard]] double of_bytes(double bytes) const;
  [[nodiscard]] int nodes_of(AxisSet axes) const;
  [[nodiscard]] const config::LinkSpec& link_of(AxisSet axes) const;
  [[nodiscard]] int64_t update_bytes(const GroupPlan& group) const;

  config::ClusterConfig cluster_;
  const RankPlan& plan_;
  Nodes nodes_;
  double peak_;
  const config::MeasuredSpec& measured_;
  mutable std::vector<std::pair<AxisSet, int>> spans_;  // nodes that groups along axes span
  // Units of one kind take the same time.
  mutable std::map<std::tuple<OpKind, config::UnitKind, int64_t>, ComputeSeconds> known_;
};

}  // namespace shoal::plan

// cost.h -- the seconds that operations of a program take on a device of a cluster.
//
//   const Costs costs(cluster, plan);
//   costs.compute(operation).device()       // of a forward pass, without its communication
//   costs.of(call).seconds                  // of one collective or transfer
//
// Products take as long as their operations, at a share of the peak that grows with their size, or
// as their bytes, whichever is longer. All else in a unit moves bytes: each tensor that a forward
// pass leaves is written and read once, and in a backward pass it is read, and its gradient written
// and read. Measurements in a cluster file (config::MeasuredSpec) take precedence over the shares.
// Collectives are rings, or trees for an all-reduce where these are faster: each step takes the time
// that config::LinkSpec has for its bytes.
#pragma once

#include <map>
#include <memory>
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
  double memory = 0;
  int launches = 0;  // of functions, by the host

  [[nodiscard]] double device() const { return products + attention + memory; }
};

enum class Link : bool { kNode, kNetwork };

struct CallSeconds {
  double seconds = 0;
  Link link = Link::kNode;
};

// Returns the steps of a ring, one after the other: of a gather or a reduce-scatter.
inline int steps_among(int ranks) { return ranks - 1; }

// Returns the seconds of a call among so many ranks on so many nodes, once all of them are there and
// nothing else uses the link.
CallSeconds call_seconds(
    const config::ClusterConfig& cluster, Exchange exchange, double bytes, int ranks, int nodes);

// Returns the seconds of functions that move so many bytes.
double seconds_of_bytes(const config::DeviceSpec& device, double bytes);

// Returns the bytes that the optimizer moves for one parameter.
int64_t update_bytes_per_parameter(const config::RunConfig& config);

class Costs {
 public:
  // Valid as long as `plan`. The spans of all ranks of a mesh are the same.
  Costs(const config::ClusterConfig& cluster,
        const RankPlan& plan,
        std::shared_ptr<GroupSpans> spans);
  Costs(const config::ClusterConfig& cluster, const RankPlan& plan);
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

  // Returns the seconds of an operation's own work; 0 for those that only communicate.
  [[nodiscard]] ComputeSeconds compute(const Operation& operation) const;

  [[nodiscard]] CallSeconds of(const OperationCall& call) const;
  // Returns that of a transfer between this rank's stage and that of a rank of the pipeline: inside a
  // node where no two ranks of the stages that talk are on different ones.
  [[nodiscard]] CallSeconds of_transfer(const OperationCall& call, int peer) const;

 private:
  [[nodiscard]] ComputeSeconds of_unit(const Operation& operation) const;
  [[nodiscard]] double of_product(const blueprint::Product& product, int64_t rows) const;
  [[nodiscard]] double of_attention(const Operation& operation) const;
  [[nodiscard]] double of_functions(const Operation& operation, double attention_bytes) const;
  [[nodiscard]] double of_round(const MatrixRound& round) const;
  [[nodiscard]] double of_bytes(double bytes) const;
  [[nodiscard]] bool attention_is_fused() const;

  config::ClusterConfig cluster_;
  const RankPlan& plan_;
  std::shared_ptr<GroupSpans> spans_;
  double peak_;
  const config::MeasuredSpec& measured_;
  // Units of one kind take the same time.
  mutable std::map<std::tuple<OpKind, config::UnitKind, int64_t>, ComputeSeconds> known_;
};

}  // namespace shoal::plan

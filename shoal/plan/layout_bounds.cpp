#include "shoal/plan/layout_bounds.h"

#include <algorithm>
#include <utility>

#include "shoal/plan/cost.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program.h"
#include "shoal/plan/sharding.h"
#include "shoal/plan/stages.h"

namespace shoal::plan {
namespace {

using config::Recompute;
using config::Sharding;

// Nodes of a group whose ranks are `apart` ranks from each other.
int nodes_of(int ranks, int apart, int devices_per_node) {
  const int64_t spanned = (int64_t{ranks} * apart + devices_per_node - 1) / devices_per_node;
  return static_cast<int>(std::min<int64_t>(ranks, spanned));
}

// The stages of one pipeline rank.
struct RankShare {
  int blocks = 0;
  int first = 0;  // blocks of its first stage
  int least = 0;  // blocks of its smallest stage
  bool embedding = false;
  bool head = false;
};

std::vector<RankShare> shares_of(int layers, const Choice& choice) {
  const std::vector<blueprint::UnitRange> stages =
      cut_into_stages(layers, choice.pp * choice.chunks);
  std::vector<RankShare> shares(static_cast<size_t>(choice.pp));
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    RankShare& share = shares[stage % shares.size()];
    const blueprint::UnitRange& range = stages[stage];
    const bool is_first = stage < shares.size();
    if (is_first) share.first = range.blocks;
    share.least = is_first ? range.blocks : std::min(share.least, range.blocks);
    share.blocks += range.blocks;
    share.embedding |= range.embedding;
    share.head |= range.head;
  }
  return shares;
}

// The chunks that a rank may have under way: stages before the others run ahead of them.
int64_t chunks_under_way(const Choice& choice, int rank) {
  const int64_t behind = choice.pp - rank - 1;
  return choice.chunks == 1 ? behind + 1 : 2 * behind + int64_t{choice.chunks - 1} * choice.pp + 1;
}

}  // namespace

LayoutBounds::LayoutBounds(config::RunConfig config, config::ClusterConfig cluster)
    : config_(std::move(config)), cluster_(std::move(cluster)) {
  // Calls of many sizes are counted as one.
  cluster_.node = cluster_.node.at_its_best();
  cluster_.network = cluster_.network.at_its_best();
}

// A model with one block, on tensor-parallel ranks alone, has all units that the whole one has.
const LayoutBounds::ModelCost& LayoutBounds::cost_of(const Choice& choice) {
  const auto key = std::tuple(choice.tp, choice.micro_batch, choice.recompute);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;

  config::RunConfig small = with(
      config_, {.tp = choice.tp, .micro_batch = choice.micro_batch, .recompute = choice.recompute});
  small.model.layers = 1;
  small.train.batch = choice.micro_batch;
  const RankPlan plan = plan_of(small, mesh_of(small.parallel, choice.tp), 0);
  const Costs costs(cluster_, plan);
  const auto unit_cost = [&](int index) {
    UnitCost cost;
    std::vector<OpKind> passes = {OpKind::kForward, OpKind::kBackward};
    const blueprint::UnitBlueprint& unit = plan.stages[0].units[static_cast<size_t>(index)];
    const bool again =
        choice.recompute == Recompute::kFull && unit.kind == config::UnitKind::kBlock;
    if (again) passes.push_back(OpKind::kRecompute);
    for (const OpKind pass : passes) {
      const Operation operation{.kind = pass, .index = index};
      cost.seconds += costs.compute(operation).device();
      for (const OperationCall& call : calls_of(plan, operation))
        cost.seconds += costs.of(call).seconds;
    }
    cost.elements = unit.layout.elements;
    const blueprint::UnitActivations activations = blueprint::activations_of(
        unit.kind, small.model, plan.shape_of(0), plan.bytes, small.train.recompute);
    cost.kept = activations.output + (again ? 0 : activations.inside);
    return cost;
  };
  return known_
      .emplace(key,
               ModelCost{.embedding = unit_cost(0), .block = unit_cost(1), .head = unit_cost(2)})
      .first->second;
}

// The first micro-batch reaches a rank after the first stages of the ranks before it, and the last
// one leaves through them.
double LayoutBounds::pipeline_seconds(const Choice& choice,
                                      const ModelCost& cost,
                                      int64_t micro_batches) const {
  double before = 0;
  double longest = 0;
  for (const RankShare& share : shares_of(config_.model.layers, choice)) {
    const double ends =
        (share.embedding ? cost.embedding.seconds : 0) + (share.head ? cost.head.seconds : 0);
    const double all = share.blocks * cost.block.seconds + ends;
    longest = std::max(longest, static_cast<double>(micro_batches) * all + before);
    before += share.first * cost.block.seconds;
  }
  return longest;
}

double LayoutBounds::data_seconds(const Choice& choice,
                                  double elements,
                                  int64_t micro_batches) const {
  const StateBytes bytes = state_bytes(config_);
  const double gradients = elements * static_cast<double>(bytes.gradients);
  const double weights = elements * static_cast<double>(bytes.weights);
  const auto passes = static_cast<double>(micro_batches);
  const bool divides = choice.sharding != Sharding::kNoShard && choice.dp_shard > 1;
  const auto seconds = [&](Exchange exchange, double of_bytes, int ranks, int apart) {
    if (ranks == 1) return 0.0;
    return call_seconds(cluster_, exchange, of_bytes, ranks,
                        nodes_of(ranks, apart, cluster_.devices_per_node))
        .seconds;
  };
  if (!divides) return seconds(Exchange::kAllReduce, gradients, choice.data_ranks(), choice.tp);
  const double gather = seconds(Exchange::kAllGather, weights, choice.dp_shard, choice.tp);
  const double scatter = seconds(Exchange::kReduceScatter, gradients, choice.dp_shard, choice.tp);
  const double replicas = seconds(Exchange::kAllReduce, gradients / choice.dp_shard,
                                  choice.dp_replicate, choice.tp * choice.dp_shard);
  const Whole kept = whole_of(choice.sharding, config_.parallel.grad_sync);
  return std::max(replicas,
                  (kept.weights ? 1 : passes) * gather + (kept.gradients ? 1 : passes) * scatter);
}

int64_t LayoutBounds::bytes_of(const Choice& choice,
                               const ModelCost& cost,
                               int64_t micro_batches) const {
  const StateBytes state = state_bytes(config_);
  const bool divides = choice.sharding != Sharding::kNoShard && choice.dp_shard > 1;
  const Whole kept = whole_of(choice.sharding, config_.parallel.grad_sync);
  const int shards = divides ? choice.dp_shard : 1;
  const int64_t passes = micro_batches * choice.chunks;
  int64_t most = 0;
  int rank = 0;
  for (const RankShare& share : shares_of(config_.model.layers, choice)) {
    const int64_t elements = share.blocks * cost.block.elements +
                             (share.embedding ? cost.embedding.elements : 0) +
                             (share.head ? cost.head.elements : 0);
    const auto of_others = [&](int64_t bytes) { return elements * bytes * (shards - 1) / shards; };
    const int64_t held =
        elements * state.total() / shards + (kept.weights ? of_others(state.weights) : 0);
    // Whole until the last micro-batch; of all chunks together, when they take several turns.
    const bool whole = kept.gradients && micro_batches > (choice.chunks == 1 ? 1 : choice.pp);
    const int64_t gradients = whole ? of_others(state.gradients) : 0;
    // With more micro-batches a rank is as far ahead again after all its chunks have opened their
    // gradients.
    const int64_t ahead = chunks_under_way(choice, rank++);
    const int64_t activations = std::min(ahead, passes) * share.least * cost.block.kept;
    const int64_t opened = choice.chunks == 1 ? 0 : int64_t{choice.chunks} * choice.pp;
    const bool together = passes > ahead + opened;
    most = std::max(most,
                    held + (together ? gradients + activations : std::max(gradients, activations)));
  }
  return most;
}

LeastOf LayoutBounds::of(const Choice& choice) {
  const ModelCost& cost = cost_of(choice);
  const int64_t rows = config_.train.batch / choice.data_ranks();
  const int64_t micro_batches = std::max<int64_t>(1, rows / choice.micro_batch);
  const auto elements =
      static_cast<double>(int64_t{config_.model.layers / choice.pp} * cost.block.elements);
  const bool divides = choice.sharding != Sharding::kNoShard;
  const double update = elements / (divides ? choice.dp_shard : 1) *
                        static_cast<double>(update_bytes_per_parameter(config_));
  return {.seconds = std::max(pipeline_seconds(choice, cost, micro_batches) +
                                  seconds_of_bytes(cluster_.device, update),
                              data_seconds(choice, elements, micro_batches)),
          .bytes = bytes_of(choice, cost, micro_batches)};
}

}  // namespace shoal::plan

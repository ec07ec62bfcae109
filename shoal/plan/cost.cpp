#include "shoal/plan/cost.h"

#include <algorithm>
#include <cmath>

#include "shoal/plan/counts.h"

namespace shoal::plan {
namespace {

using blueprint::UnitActivations;

double moved(const UnitActivations& unit) {
  return static_cast<double>(unit.inside + unit.output + unit.forward);
}

}  // namespace

int launches_of(config::UnitKind kind, const config::ModelConfig& model, bool backward) {
  switch (kind) {
    case config::UnitKind::kEmbedding:
      return backward ? 2 : 3;
    case config::UnitKind::kBlock:
      if (model.positions == config::Positions::kRotary) return backward ? 30 : 15;
      return backward ? 23 : 12;
    case config::UnitKind::kHead:
      return backward ? 3 : 12;
  }
  return 0;
}

Costs::Costs(const config::ClusterConfig& cluster, const RankPlan& plan)
    : cluster_(cluster),
      plan_(plan),
      nodes_(Nodes::uniform(plan.mesh.num_ranks(), cluster.devices_per_node)),
      peak_(cluster.device.peak(plan.config.train.precision)),
      measured_(cluster_.device.measured(plan.config.train.precision)) {}

double Costs::of_bytes(double bytes) const {
  return bytes / (cluster_.device.memory_gb_per_s * 1e9 * cluster_.device.memory_share);
}

double Costs::of_product(const blueprint::Product& product, int64_t rows) const {
  const auto& [name, in, out] = product;
  const config::DeviceSpec& device = cluster_.device;
  const double operations = product.operations(rows);
  const double half = 1e9 * measured_.products_half_gflop.value_or(device.products_half_gflop);
  const double share = measured_.products_share.value_or(device.products_share);
  const double computing = (operations + half) / (peak_ * share);
  const auto elements = static_cast<double>(rows * in + rows * out + in * out);
  const double bytes = elements * static_cast<double>(plan_.bytes.compute);
  if (measured_.products_gb_per_s) return computing + bytes / (*measured_.products_gb_per_s * 1e9);
  return std::max(computing, of_bytes(bytes));
}

double Costs::of_attention(const Operation& operation) const {
  const config::ModelConfig& model = plan_.config.model;
  const config::DeviceSpec& device = cluster_.device;
  const bool backward = operation.kind == OpKind::kBackward;
  const int64_t sequences = plan_.shape_of(operation.micro_batch).sequences;
  const double of_sequence = blueprint::attention_operations(model, model.context) *
                             static_cast<double>(model.context) / plan_.tensor_place.ranks;
  // A flash kernel leaves out the masked half, and computes the weights again in backward.
  const double times = device.flash_attention ? (backward ? 2.5 : 1) / 2 : (backward ? 2 : 1);
  double rate = peak_ * device.attention_share;
  if (!measured_.attention.empty()) {
    const double of_head = of_sequence * plan_.tensor_place.ranks / model.heads;
    rate = 1e12 * measured_.attention.at(1e-9 * 3.5 / 2 * of_head);
  }
  return times * of_sequence * static_cast<double>(sequences) / rate;
}

// What a unit does beside products and attention.
double Costs::of_functions(const Operation& operation, double attention_bytes) const {
  const config::ModelConfig& model = plan_.config.model;
  const config::UnitKind kind = unit_of(plan_, operation).kind;
  const bool backward = operation.kind == OpKind::kBackward;
  const auto kept = [&](config::Recompute recompute) {
    return moved(blueprint::activations_of(kind, model, plan_.shape_of(operation.micro_batch),
                                           plan_.bytes, recompute));
  };
  const double left = kept(config::Recompute::kNone);
  double bytes = left * (backward ? 3 : 2) + attention_bytes;
  if (backward && plan_.config.train.recompute == config::Recompute::kSelective)
    bytes += 2 * (left - kept(config::Recompute::kSelective));
  const double seconds = measured_.functions.empty()
                             ? of_bytes(bytes)
                             : bytes / (1e9 * measured_.functions.at(1e-6 * left));
  return seconds + 1e-6 * cluster_.device.launch_us * launches_of(kind, model, backward);
}

ComputeSeconds Costs::of_unit(const Operation& operation) const {
  const config::ModelConfig& model = plan_.config.model;
  const blueprint::UnitBlueprint& unit = unit_of(plan_, operation);
  const int64_t rows = plan_.shape_of(operation.micro_batch).sequences * model.context;
  const bool backward = operation.kind == OpKind::kBackward;
  const bool head = unit.kind == config::UnitKind::kHead;
  // The head computes its gradient together with its loss.
  const double passes = head ? (backward ? 0 : 3) : (backward ? 2 : 1);
  ComputeSeconds seconds;
  for (const blueprint::Product& product : blueprint::products_of(unit, model, plan_.tensor_place))
    seconds.products += passes * of_product(product, rows);
  double attention_bytes = 0;
  if (unit.kind == config::UnitKind::kBlock) {
    seconds.attention = of_attention(operation);
    if (!cluster_.device.flash_attention) {  // logits, weights and their mask are written and read
      const double weights = static_cast<double>(rows) * static_cast<double>(model.context) *
                             model.heads / plan_.tensor_place.ranks;
      attention_bytes = weights * static_cast<double>(plan_.bytes.compute) * (backward ? 6 : 4);
    }
  }
  seconds.memory = of_functions(operation, attention_bytes);
  return seconds;
}

int64_t Costs::update_bytes(const GroupPlan& group) const {
  const StateBytes state = state_bytes(plan_.config);
  const int64_t weights = state.masters > 0 ? state.weights : 2 * state.weights;
  return group.shard * (state.gradients + weights + 2 * state.masters + 2 * state.optimizer);
}

ComputeSeconds Costs::compute(const Operation& operation) const {
  if (computes(operation.kind)) {
    const auto key = std::tuple(operation.kind, unit_of(plan_, operation).kind,
                                plan_.rows[static_cast<size_t>(operation.micro_batch)]);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, of_unit(operation)).first->second;
  }
  const auto shard_bytes = [&](const GroupPlan& group) {
    return static_cast<double>(group.shard * plan_.bytes.gradient);
  };
  switch (operation.kind) {
    case OpKind::kUpdate:
      return {.memory = of_bytes(static_cast<double>(update_bytes(group_at(plan_, operation))))};
    case OpKind::kAwaitReduce:
      return {.memory = operation.adds ? of_bytes(3 * shard_bytes(group_at(plan_, operation))) : 0};
    case OpKind::kNorm: {
      double bytes = 0;
      for (const StagePlan& stage : plan_.stages)
        for (const GroupPlan& group : stage.groups) bytes += shard_bytes(group);
      return {.memory = of_bytes(bytes)};
    }
    default:
      return {};
  }
}

int Costs::nodes_of(AxisSet axes) const {
  for (const auto& [known, nodes] : spans_) {
    if (known == axes) return nodes;
  }
  spans_.emplace_back(axes, max_nodes_per_group(plan_.mesh, axes, nodes_));
  return spans_.back().second;
}

const config::LinkSpec& Costs::link_of(AxisSet axes) const {
  return nodes_of(axes) == 1 ? cluster_.node : cluster_.network;
}

double Costs::taken_by(const OperationCall& call) const {
  return of(call) * link_of(call.axes).compute_share;
}

double Costs::of(const OperationCall& call) const {
  const int ranks = plan_.ranks(call.axes);
  if (ranks == 1 || call.bytes == 0) return 0;
  const int nodes = nodes_of(call.axes);
  const config::LinkSpec& link = link_of(call.axes);
  const bool transfer = call.exchange == Exchange::kSend || call.exchange == Exchange::kReceive;
  // Rings between nodes run over the links of all their members on a node.
  const double beside = transfer || nodes == 1 ? 1 : std::max(1.0, 1.0 * ranks / nodes);
  const double bandwidth = std::min(link.gb_per_s * beside, cluster_.node.gb_per_s) * 1e9;
  const auto bytes = static_cast<double>(call.bytes);
  if (transfer) return link.latency_us * 1e-6 + bytes / bandwidth;
  const double rounds = call.exchange == Exchange::kAllReduce ? 2 : 1;
  // Short messages go through trees.
  const double steps = std::min<double>(ranks - 1, 2 * std::ceil(std::log2(ranks)));
  return rounds * (steps * link.latency_us * 1e-6 + bytes * (ranks - 1) / ranks / bandwidth);
}

}  // namespace shoal::plan

#include "shoal/plan/cost.h"

#include <algorithm>
#include <bit>

#include "shoal/blueprint/launches.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/device_allowance.h"

namespace shoal::plan {

double seconds_of_bytes(const config::DeviceSpec& device, double bytes) {
  return bytes / (device.memory_gb_per_s * 1e9 * device.memory_share);
}

int64_t update_bytes_per_parameter(const config::RunConfig& config) {
  const StateBytes state = state_bytes(config);
  const int64_t weights = state.masters > 0 ? state.weights : 2 * state.weights;
  return state.gradients + weights + 2 * state.masters + 2 * state.optimizer;
}

namespace {

// The way of a part from its first rank to its last: steps between nodes, and inside them.
struct Way {
  int far = 0;
  int near = 0;

  [[nodiscard]] int steps() const { return far + near; }
};

Way round_a_ring(int ranks, int nodes) {
  return {.far = nodes - 1, .near = steps_among(ranks) - (nodes - 1)};
}

// A tree of nodes, in each of which ranks are a chain: so NCCL builds it.
Way through_a_tree(int ranks, int nodes) {
  const int deep = static_cast<int>(std::bit_width(static_cast<unsigned>(nodes - 1)));
  return {.far = deep, .near = (ranks + nodes - 1) / nodes - 1};
}

// The bytes of all steps pass the slowest link, and each step waits for the latency of its own.
double seconds_of_way(const config::ClusterConfig& cluster,
                      const config::LinkSpec& link,
                      const Way& way,
                      double bytes,
                      double times) {
  const double of_step = bytes / way.steps();
  const double far = link.step_seconds(of_step, times);
  if (way.near == 0 || cluster.node.latency_us >= link.latency_us) return way.steps() * far;
  config::LinkSpec near = link;
  near.latency_us = cluster.node.latency_us;
  return way.far * far + way.near * near.step_seconds(of_step, times);
}

}  // namespace

CallSeconds call_seconds(
    const config::ClusterConfig& cluster, Exchange exchange, double bytes, int ranks, int nodes) {
  const config::LinkSpec& link = nodes == 1 ? cluster.node : cluster.network;
  const bool transfer = exchange == Exchange::kSend || exchange == Exchange::kReceive;
  if (ranks == 1 && !transfer) return {};
  const double rounds = exchange == Exchange::kAllReduce ? 2 : 1;
  if (kind_of(cluster.device) == DeviceKind::kCpu && nodes > 1 && !transfer) {
    // On CPUs every rank sends its part to each of the others itself.
    const double on_node = std::max(1.0, 1.0 * ranks / nodes);
    const double part = bytes / ranks;
    return {.seconds = rounds * ((ranks - on_node) * cluster.network.step_seconds(part) +
                                 (on_node - 1) * cluster.node.step_seconds(part)),
            .link = Link::kNetwork};
  }
  // Rings between nodes run over the links of all their members on a node.
  const double beside = transfer || nodes == 1 ? 1 : std::max(1.0, 1.0 * ranks / nodes);
  const double times = std::min(beside, cluster.node.gb_per_s / link.gb_per_s);
  const Link used = nodes == 1 ? Link::kNode : Link::kNetwork;
  if (transfer) return {.seconds = link.step_seconds(bytes, times), .link = used};
  const double sent = bytes * (ranks - 1) / ranks;
  const auto seconds_of = [&](const Way& way) {
    return rounds * seconds_of_way(cluster, link, way, sent, times);
  };
  double seconds = seconds_of(round_a_ring(ranks, nodes));
  // NCCL gathers and scatters in rings however many ranks there are.
  if (exchange == Exchange::kAllReduce && nodes > 1)
    seconds = std::min(seconds, seconds_of(through_a_tree(ranks, nodes)));
  return {.seconds = seconds, .link = used};
}

Costs::Costs(const config::ClusterConfig& cluster,
             const RankPlan& plan,
             std::shared_ptr<GroupSpans> spans)
    : cluster_(cluster),
      plan_(plan),
      spans_(std::move(spans)),
      peak_(cluster.device.peak(plan.config.train.precision)),
      measured_(cluster_.device.measured(plan.config.train.precision)) {}

Costs::Costs(const config::ClusterConfig& cluster, const RankPlan& plan)
    : Costs(cluster,
            plan,
            std::make_shared<GroupSpans>(
                plan.mesh, Nodes::uniform(plan.mesh.num_ranks(), cluster.devices_per_node))) {}

double Costs::of_bytes(double bytes) const { return seconds_of_bytes(cluster_.device, bytes); }

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

// A kernel without dropout, which takes all elements and heads on a CPU.
bool Costs::attention_is_fused() const {
  const config::ModelConfig& model = plan_.config.model;
  if (!cluster_.device.flash_attention || model.dropout > 0) return false;
  return kind_of(cluster_.device) == DeviceKind::kCpu ||
         blueprint::attention_is_fused_on_gpu(plan_.bytes.compute, model.features_per_head());
}

// Masters are orthogonalized, in their precision, by three products in each iteration. All ranks wait for
// the slowest.
double Costs::of_round(const MatrixRound& round) const {
  using config::Precision;
  const Precision trained = plan_.config.train.precision;
  const Precision precision =
      trained == Precision::kFp64 || trained == Precision::kTf32 ? trained : Precision::kFp32;
  const config::DeviceSpec& device = cluster_.device;
  const config::MeasuredSpec& measured = device.measured(precision);
  const double half = 1e9 * measured.products_half_gflop.value_or(device.products_half_gflop);
  double most = 0;
  for (const WholeMatrix& matrix : round) {
    const auto shorter = static_cast<double>(std::min(matrix.rows, matrix.columns));
    const auto longer = static_cast<double>(std::max(matrix.rows, matrix.columns));
    most = std::max(most, 2 * shorter * shorter * (2 * longer + shorter) + 3 * half);
  }
  return config::kMuonIterations * most /
         (device.peak(precision) * measured.products_share.value_or(device.products_share));
}

double Costs::of_attention(const Operation& operation) const {
  const config::ModelConfig& model = plan_.config.model;
  const config::DeviceSpec& device = cluster_.device;
  const bool backward = operation.kind == OpKind::kBackward;
  const int64_t sequences = plan_.shape_of(operation.micro_batch).sequences;
  const double of_sequence = blueprint::attention_operations(model, model.context) *
                             static_cast<double>(model.context) / plan_.tensor_place.ranks;
  // A flash kernel leaves out the masked half, and computes the weights again in backward.
  const double times = attention_is_fused() ? (backward ? 2.5 : 1) / 2 : (backward ? 2 : 1);
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
    return static_cast<double>(blueprint::activations_of(kind, model,
                                                         plan_.shape_of(operation.micro_batch),
                                                         plan_.bytes, recompute)
                                   .left());
  };
  const double left = kept(config::Recompute::kNone);
  double bytes = left * (backward ? 3 : 2) + attention_bytes;
  if (backward && plan_.config.train.recompute == config::Recompute::kSelective)
    bytes += 2 * (left - kept(config::Recompute::kSelective));
  const config::Curve& rates = measured_.functions_of(kind, model.activation);
  return rates.empty() ? of_bytes(bytes) : bytes / (1e9 * rates.at(1e-6 * left));
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
    if (!attention_is_fused()) {  // logits, weights and their mask are written and read
      const double weights = static_cast<double>(rows) * static_cast<double>(model.context) *
                             model.heads / plan_.tensor_place.ranks;
      // With dropout the weights are among what the unit leaves.
      const int times = model.dropout > 0 ? 2 : (backward ? 6 : 4);
      // Where a device has kernels for attention, but not of this kind, its products have wide scores
      // (model/functions/attention_products.h).
      const bool wide = cluster_.device.flash_attention && model.dropout == 0;
      attention_bytes =
          weights * static_cast<double>(wide ? plan_.bytes.wide : plan_.bytes.compute) * times;
    }
  }
  seconds.memory = of_functions(operation, attention_bytes);
  const auto pass = backward ? blueprint::Pass::kBackward : blueprint::Pass::kForward;
  seconds.launches = launches_of(unit.kind, model, pass, plan_.config.train.recompute);
  return seconds;
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
      return {.memory = of_bytes(static_cast<double>(group_at(plan_, operation).shard *
                                                     update_bytes_per_parameter(plan_.config)))};
    case OpKind::kExchangeMatrices:
      return {.products = of_round(plan_.matrices[static_cast<size_t>(operation.index)])};
    case OpKind::kAwaitReduce:
      return {.memory = operation.adds ? of_bytes(3 * shard_bytes(group_at(plan_, operation))) : 0};
    case OpKind::kNorm: {
      double bytes = 0;
      for (const StagePlan& stage : plan_.stages)
        for (const GroupPlan& group : stage.groups) bytes += shard_bytes(group);
      return {.memory = of_bytes(bytes), .launches = blueprint::kOptimizerLaunches};
    }
    default:
      return {};
  }
}

CallSeconds Costs::of(const OperationCall& call) const {
  const int ranks = plan_.ranks(call.axes);
  if (ranks == 1 || call.bytes == 0) return {};
  return call_seconds(cluster_, call.exchange, static_cast<double>(call.bytes), ranks,
                      spans_->nodes_of(call.axes));
}

CallSeconds Costs::of_transfer(const OperationCall& call, int peer) const {
  const int nodes = spans_->stages_cross_nodes(plan_.pipeline_rank, peer) ? 2 : 1;
  return call_seconds(cluster_, call.exchange, static_cast<double>(call.bytes),
                      plan_.ranks(call.axes), nodes);
}

}  // namespace shoal::plan

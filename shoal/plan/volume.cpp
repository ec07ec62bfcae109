#include "shoal/plan/volume.h"

#include <map>
#include <tuple>

#include "shoal/blueprint/tensor_calls.h"
#include "shoal/core/error.h"
#include "shoal/plan/whole_matrices.h"

namespace shoal::plan {
namespace {

using blueprint::Exchange;
using blueprint::Traffic;

// Every part of a matrix is sent to the rank that orthogonalizes it, and back.
std::vector<OperationCall> calls_of_round(const RankPlan& plan, const MatrixRound& round) {
  const AxisSet axes = matrix_axes(plan.config.parallel);
  const int self = plan.mesh.position(plan.rank, axes);
  std::vector<OperationCall> calls;
  for (size_t owner = 0; owner < round.size(); ++owner) {
    for (const MatrixPart& part : round[owner].parts) {
      const bool mine = part.rank == self;
      if (mine == (static_cast<int>(owner) == self)) continue;
      const int64_t bytes = part.count * plan.bytes.gradient;
      calls.push_back({Traffic::kMatrices, Exchange::kSend, axes, bytes});
      calls.push_back({Traffic::kMatrices, Exchange::kReceive, axes, bytes});
    }
  }
  return calls;
}

std::vector<OperationCall> calls_of_pass(const RankPlan& plan, const Operation& operation) {
  const auto of_unit =
      operation.kind == OpKind::kBackward ? blueprint::backward_calls : blueprint::forward_calls;
  std::vector<OperationCall> calls;
  for (const auto& [traffic, exchange, bytes] :
       of_unit(unit_of(plan, operation).kind, plan.config.model,
               plan.shape_of(operation.micro_batch), plan.bytes))
    calls.push_back({traffic, exchange, Axis::kTp, bytes});
  return calls;
}

}  // namespace

std::vector<OperationCall> calls_of(const RankPlan& plan, const Operation& operation) {
  const blueprint::ElementBytes& bytes = plan.bytes;
  const bool forward = operation.pass == Op::kForward;
  const Traffic between_stages = forward ? Traffic::kActivations : Traffic::kActivationGradients;
  switch (operation.kind) {
    case OpKind::kForward:
    case OpKind::kRecompute:
    case OpKind::kBackward:
      return calls_of_pass(plan, operation);
    case OpKind::kCountTargets:
      return {{Traffic::kTargets, Exchange::kAllReduce, kDataAxes, sizeof(int64_t)}};
    case OpKind::kReceive:
      return {{between_stages, Exchange::kReceive, Axis::kPp,
               plan.activation_bytes(operation.micro_batch)}};
    case OpKind::kSend:
      return {{between_stages, Exchange::kSend, Axis::kPp,
               plan.activation_bytes(operation.micro_batch)}};
    case OpKind::kGather:
      return {{Traffic::kWeights, Exchange::kAllGather, plan.shards,
               group_at(plan, operation).whole * bytes.compute}};
    case OpKind::kReduce:
      return {{Traffic::kGradients, Exchange::kReduceScatter, plan.shards,
               group_at(plan, operation).whole * bytes.gradient}};
    case OpKind::kReduceReplicas:
      return {{Traffic::kGradientsOverReplicas, Exchange::kAllReduce, plan.replicas,
               group_at(plan, operation).shard * bytes.gradient}};
    case OpKind::kSumPartial:
      return {{Traffic::kPartialGradients, Exchange::kAllReduce, Axis::kTp,
               partial_elements(plan, unit_of(plan, operation)) * bytes.gradient}};
    case OpKind::kExchangeTied: {
      const int64_t tied = tied_elements(plan, unit_of(plan, operation)) * bytes.gradient;
      return {{Traffic::kTiedGradient, Exchange::kSend, Axis::kPp, tied},
              {Traffic::kTiedGradient, Exchange::kReceive, Axis::kPp, tied}};
    }
    case OpKind::kSumLoss:
      return {{Traffic::kLoss, Exchange::kAllReduce, kLossAxes, bytes.wide}};
    case OpKind::kNorm:
      return {{Traffic::kNorm, Exchange::kAllReduce, weight_axes(plan.config.parallel),
               bytes.gradient}};
    case OpKind::kExchangeMatrices:
      return calls_of_round(plan, plan.matrices[static_cast<size_t>(operation.index)]);
    default:
      return {};
  }
}

std::vector<Volume> volume_of(const RankPlan& plan, const Program& program) {
  std::map<std::tuple<Traffic, Exchange>, Volume> volumes;
  for (const Operation& operation : program) {
    for (const OperationCall& call : calls_of(plan, operation)) {
      const int ranks = plan.ranks(call.axes);
      if (ranks == 1 || call.bytes == 0) continue;
      Volume& volume = volumes[{call.traffic, call.exchange}];
      volume = {.traffic = call.traffic,
                .exchange = call.exchange,
                .axes = plan.mesh.crowded(call.axes),
                .ranks = ranks,
                .calls = volume.calls + 1,
                .bytes = volume.bytes + call.bytes};
    }
  }
  std::vector<Volume> result;
  result.reserve(volumes.size());
  for (const auto& [key, volume] : volumes) result.push_back(volume);
  return result;
}

std::vector<Volume> volume_of_step(const config::RunConfig& config, const Mesh& mesh, int rank) {
  const RankPlan plan = plan_of(config, mesh, rank);
  return volume_of(plan, training_program(plan));
}

double sent_bytes(const Volume& volume) {
  const auto bytes = static_cast<double>(volume.bytes);
  const double others = (volume.ranks - 1.0) / volume.ranks;
  switch (volume.exchange) {
    case Exchange::kAllGather:
    case Exchange::kReduceScatter:
      return bytes * others;
    case Exchange::kAllReduce:
      return 2 * bytes * others;
    case Exchange::kSend:
      return bytes;
    case Exchange::kReceive:
      return 0;
  }
  throw BugError("no such exchange");
}

}  // namespace shoal::plan

#include "shoal/plan/rank_plan.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/stages.h"
#include "shoal/plan/unit_groups.h"

namespace shoal::plan {
namespace {

using config::ParallelConfig;
using config::RunConfig;
using config::UnitKind;

// Returns the sequences of each micro-batch of this rank. Every rank has as many micro-batches;
// where there are more of them than sequences, the others have one sequence whose targets are
// masked.
std::vector<int64_t> rows_of_passes(const RunConfig& config, const Mesh& mesh, int rank) {
  const auto rows =
      static_cast<uint64_t>(sequences_of(config, mesh, mesh.position(rank, kDataAxes)));
  const auto passes = static_cast<uint64_t>(
      passes_of_step(config.train.batch, mesh.size(kDataAxes), config.train.micro_batch));
  std::vector<int64_t> of_each;
  for (uint64_t i = 0; i < passes; ++i)
    of_each.push_back(
        std::max<int64_t>(1, static_cast<int64_t>(even_part_begin(rows, i + 1, passes)) -
                                 static_cast<int64_t>(even_part_begin(rows, i, passes))));
  return of_each;
}

std::vector<GroupPlan> groups_of(const RunConfig& config, const StagePlan& stage, int shards) {
  std::vector<UnitSize> whole;
  for (const blueprint::UnitBlueprint& unit : blueprint::units_of(config.model, stage.range))
    whole.push_back({unit.kind, unit.layout.elements});
  const bool tied = config.model.tied && stage.range.embedding && stage.range.head;
  std::vector<GroupPlan> groups;
  for (std::vector<size_t>& units : group_units(whole, config.parallel, tied)) {
    GroupPlan group;
    int64_t all = 0;
    // With one stage the backward pass begins with the last unit of the forward pass.
    bool stays = false;
    std::vector<UnitKind> kinds;
    for (const size_t unit : units) {
      all += stage.units[unit].layout.elements;
      kinds.push_back(stage.units[unit].kind);
      stays |= config.parallel.pp == 1 && unit + 1 == stage.units.size();
    }
    group.units = std::move(units);
    group.shard = (all + shards - 1) / shards;
    group.whole = group.shard * shards;
    group.policy = sharding_policy(config, kinds, shards);
    group.whole_until_backward = stays || !group.policy.reshard_after_forward;
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

StagePlan stage_plan(const RunConfig& config,
                     const blueprint::UnitRange& range,
                     const blueprint::TensorPlace& place,
                     int shards) {
  StagePlan work{.range = range, .units = blueprint::units_of(config.model, range, place)};
  work.groups = groups_of(config, work, shards);
  work.group_of.resize(work.units.size());
  for (size_t group = 0; group < work.groups.size(); ++group) {
    for (const size_t unit : work.groups[group].units)
      work.group_of[unit] = static_cast<int32_t>(group);
  }
  return work;
}

size_t RankPlan::group_number(size_t chunk, size_t group) const {
  for (size_t before = 0; before < chunk; ++before) group += stages[before].groups.size();
  return group;
}

bool counts(const RankPlan& plan, const StagePlan& stage, const blueprint::WeightSpec& weight) {
  const bool second_copy =
      plan.config.model.tied && weight.name == blueprint::kTiedMatrix && !stage.range.embedding;
  const bool on_all_tensor_ranks = !weight.split && plan.tensor_place.rank > 0;
  return !second_copy && !on_all_tensor_ranks;
}

std::vector<blueprint::FlatPiece> pieces_within(const StagePlan& stage,
                                                const GroupPlan& group,
                                                int64_t begin,
                                                int64_t end) {
  std::vector<blueprint::LaidOut> units;
  for (const size_t unit : group.units) units.push_back(stage.units[unit].laid_out());
  return blueprint::pieces_within(units, begin, end);
}

int64_t RankPlan::matrix_bytes(int round) const {
  const int own = mesh.position(rank, matrix_axes(config.parallel));
  return working_elements(matrices[static_cast<size_t>(round)], own) * bytes.gradient;
}

int64_t RankPlan::activation_bytes(int micro_batch) const {
  const int64_t tokens = rows[static_cast<size_t>(micro_batch)] * config.model.context;
  return blueprint::largest_share(tokens, tensor_place.ranks) * config.model.width * bytes.compute;
}

int64_t sequences_of(const RunConfig& config, const Mesh& mesh, int place) {
  const auto batch = static_cast<uint64_t>(config.train.batch);
  const auto ranks = static_cast<uint64_t>(mesh.size(kDataAxes));
  const auto index = static_cast<uint64_t>(place);
  return static_cast<int64_t>(even_part_begin(batch, index + 1, ranks) -
                              even_part_begin(batch, index, ranks));
}

Schedule schedule_of_step(const RunConfig& config, const Mesh& mesh) {
  const int64_t passes =
      passes_of_step(config.train.batch, mesh.size(kDataAxes), config.train.micro_batch);
  return schedule_of(config.parallel, {.ranks = mesh.size(Axis::kPp),
                                       .chunks = config.parallel.chunks,
                                       .micro_batches = static_cast<int>(passes)});
}

RankPlan plan_of(const RunConfig& config, const Mesh& mesh, int rank) {
  return plan_of(config, mesh, rank, schedule_of_step(config, mesh));
}

RankPlan plan_of(const RunConfig& config, const Mesh& mesh, int rank, Schedule schedule) {
  const ParallelConfig& parallel = config.parallel;
  if (parallel.cp > 1)
    throw UsageError(format("parallel.cp is {}: a split sequence is not counted yet", parallel.cp));
  RankPlan plan{
      .config = config,
      .mesh = mesh,
      .rank = rank,
      .schedule = std::move(schedule),
      .pipeline_rank = mesh.position(rank, Axis::kPp),
      .tensor_place = {.ranks = mesh.size(Axis::kTp), .rank = mesh.position(rank, Axis::kTp)},
      .rows = rows_of_passes(config, mesh, rank),
      .bytes = blueprint::element_bytes(config.train.precision),
      .shards = shard_axes(parallel),
      .replicas = replica_axes(parallel),
  };
  const std::vector<blueprint::UnitRange> stages =
      cut_into_stages(config.model.layers, plan.schedule.stages());
  for (int chunk = 0; chunk < plan.schedule.chunks(); ++chunk) {
    const int number = plan.schedule.stage_of(plan.pipeline_rank, chunk);
    plan.stages.push_back(stage_plan(config, stages[static_cast<size_t>(number)], plan.tensor_place,
                                     plan.ranks(plan.shards)));
  }
  if (config.optimizer.kind == config::OptimizerKind::kMuon)
    plan.matrices = matrix_rounds(config, mesh, rank);
  return plan;
}

}  // namespace shoal::plan

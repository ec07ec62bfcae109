#include "shoal/plan/rank_work.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/unit_groups.h"

namespace shoal::plan {
namespace {

using config::GradSync;
using config::ParallelConfig;
using config::RunConfig;
using config::Sharding;
using config::UnitKind;

ElementBytes bytes_of(config::Precision precision) {
  switch (precision) {
    case config::Precision::kBf16:
    case config::Precision::kFp16:
      return {.compute = 2};
    case config::Precision::kFp64:
      return {.compute = 8, .gradient = 8, .wide = 8};
    case config::Precision::kFp32:
    case config::Precision::kTf32:
      break;
  }
  return {};
}

// The sequences of this rank, dealt out to micro-batches: every rank has as many of these, and where there
// are more of them than sequences one is run again without counting.
std::vector<int64_t> rows_of_passes(const config::TrainConfig& train, const Mesh& mesh, int rank) {
  const auto batch = static_cast<uint64_t>(train.batch);
  const auto ranks = static_cast<uint64_t>(mesh.size(kSampleAxes));
  const auto place = static_cast<uint64_t>(mesh.position(rank, kSampleAxes));
  const uint64_t rows =
      even_part_begin(batch, place + 1, ranks) - even_part_begin(batch, place, ranks);
  const uint64_t most = (batch + ranks - 1) / ranks;
  const auto at_once = static_cast<uint64_t>(train.micro_batch.value_or(train.batch));
  const uint64_t passes = (most + at_once - 1) / at_once;
  std::vector<int64_t> of_each;
  for (uint64_t i = 0; i < passes; ++i)
    of_each.push_back(
        std::max<int64_t>(1, static_cast<int64_t>(even_part_begin(rows, i + 1, passes)) -
                                 static_cast<int64_t>(even_part_begin(rows, i, passes))));
  return of_each;
}

bool keeps_weights(const ParallelConfig& parallel) {
  return parallel.sharding == Sharding::kNoShard || parallel.sharding == Sharding::kOptimizer;
}

bool keeps_gradients(const ParallelConfig& parallel) {
  return parallel.grad_sync == GradSync::kAuto ? keeps_weights(parallel)
                                               : parallel.grad_sync == GradSync::kBatch;
}

bool reshards(const ParallelConfig& parallel) {
  return parallel.sharding != Sharding::kShardGradOp && parallel.reshard_after_forward;
}

// A matrix that the ends of a pipeline both have is complete when both ends are done with it.
bool waits_for_other_stage(const RunConfig& config, const UnitParameters& unit) {
  return config.model.tied && config.parallel.pp > 1 && unit.kind != UnitKind::kBlock;
}

std::vector<GroupWork> groups_of(const RunConfig& config, const StageWork& stage, int shards) {
  std::vector<UnitSize> sizes;
  for (const UnitParameters& unit : stage.units) sizes.push_back({unit.kind, unit.elements()});
  const bool tied = config.model.tied && stage.stage.embedding && stage.stage.head;
  std::vector<GroupWork> groups;
  for (std::vector<size_t>& units : group_units(sizes, config.parallel, tied)) {
    GroupWork group;
    int64_t all = 0;
    // With one stage the backward pass begins where the forward pass ended.
    bool stays = false;
    for (const size_t unit : units) {
      all += sizes[unit].parameters;
      group.reduce_at_end |= waits_for_other_stage(config, stage.units[unit]);
      stays |= config.parallel.pp == 1 && unit + 1 == sizes.size();
    }
    group.units = std::move(units);
    group.shard = (all + shards - 1) / shards;
    group.whole = group.shard * shards;
    group.keep_weights = shards == 1 || keeps_weights(config.parallel);
    group.open_between = stays || !reshards(config.parallel);
    group.keep_gradients = shards == 1 || group.reduce_at_end || keeps_gradients(config.parallel);
    groups.push_back(std::move(group));
  }
  return groups;
}

// One rank alone goes back after every forward pass.
std::vector<Action> alternating(int micro_batches) {
  std::vector<Action> actions;
  for (int i = 0; i < micro_batches; ++i) {
    actions.push_back({.op = Op::kForward, .micro_batch = i});
    actions.push_back({.op = Op::kBackward, .micro_batch = i});
  }
  return actions;
}

}  // namespace

RankWork work_of(const RunConfig& config, const Mesh& mesh, int rank) {
  const ParallelConfig& parallel = config.parallel;
  if (parallel.cp > 1)
    throw UsageError(format("parallel.cp is {}: a split sequence is not counted yet", parallel.cp));
  const bool sharded = parallel.sharding != Sharding::kNoShard;
  RankWork work{.rows = rows_of_passes(config.train, mesh, rank),
                .bytes = bytes_of(config.train.precision),
                .shards = sharded ? AxisSet(Axis::kDpShard) : AxisSet(),
                .replicas = sharded ? AxisSet(Axis::kDpReplicate) : kSampleAxes};
  const auto micro_batches = static_cast<int>(work.micro_batches());
  const int place = mesh.position(rank, Axis::kPp);
  work.actions = parallel.pp == 1 ? alternating(micro_batches)
                                  : schedule_of(parallel, {.ranks = parallel.pp,
                                                           .chunks = parallel.chunks,
                                                           .micro_batches = micro_batches})
                                        .actions(place);
  const std::vector<Stage> stages =
      cut_into_stages(config.model.layers, parallel.pp * parallel.chunks);
  for (int chunk = 0; chunk < parallel.chunks; ++chunk) {
    const int number = chunk * parallel.pp + place;
    StageWork stage{.stage = stages[static_cast<size_t>(number)]};
    stage.units = parameters_of(config.model, stage.stage,
                                {.ranks = parallel.tp, .rank = mesh.position(rank, Axis::kTp)});
    stage.groups = groups_of(config, stage, mesh.size(work.shards));
    work.stages.push_back(std::move(stage));
  }
  return work;
}

}  // namespace shoal::plan

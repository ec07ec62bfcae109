#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/plan/advice.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/cost.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/device_allowance.h"
#include "shoal/plan/distinct_groups.h"
#include "shoal/plan/fullest_rank.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/layout_bounds.h"
#include "shoal/plan/memory.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/nodes.h"
#include "shoal/plan/other_ranks.h"
#include "shoal/plan/planned_job.h"
#include "shoal/plan/program.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/rank_clock.h"
#include "shoal/plan/rank_plan.h"
#include "shoal/plan/replicas.h"
#include "shoal/plan/roles.h"
#include "shoal/plan/run_forecast.h"
#include "shoal/plan/schedule.h"
#include "shoal/plan/schedule_check.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/search.h"
#include "shoal/plan/stages.h"
#include "shoal/plan/step_time.h"
#include "shoal/plan/volume.h"
#include "shoal/plan/whole_matrices.h"

namespace shoal::plan {
namespace {

using ::testing::ElementsAre;

// shoal/plan/composition.h
void composition(const config::RunConfig& config) {
  const std::vector<config::Problem> problems = why_not(config, /*ranks=*/8);
  if (!problems.empty()) throw UsageError(config::report("this layout cannot be run", problems));
}

// shoal/plan/cost.h
void cost(const config::ClusterConfig& cluster,
          const RankPlan& plan,
          const Operation& operation,
          const OperationCall& call) {
  const Costs costs(cluster, plan);
  costs.compute(operation).device();
  costs.of(call).seconds;
}

// shoal/plan/rank_clock.h
void rank_clock(const config::ClusterConfig& cluster,
                const Costs& costs,
                const Operation& operation,
                StreamId stream,
                const std::vector<CallSeconds>& calls) {
  RankClock clock(cluster);
  const double end = clock.start(stream, calls, Spent::kWeights);
  clock.compute(costs.compute(operation));
  clock.wait_until(end, Spent::kWeights);
}

// shoal/plan/step_time.h
void step_time_of(const config::RunConfig& config, const config::ClusterConfig& cluster) {
  const Mesh mesh = mesh_of(config.parallel, 1024);
  const StepTime time = step_time(PlannedJob(config, mesh).stages(), cluster);
  time.seconds, time.busiest().by(Spent::kPipeline);
}

// shoal/plan/counts.h
void counts(const config::RunConfig& config) {
  const ModelCounts counts = counts_of(config.model);
  counts.parameters(), counts.training_operations();
  rule_of_thumb(config.model, /*batch=*/256).parameters;
}

// shoal/plan/distinct_groups.h
void distinct_groups_of(const config::RunConfig& config, const Mesh& mesh, int rank) {
  for (const AxisSet axes : distinct_groups(mesh, group_axes(config))) mesh.peers(rank, axes);
}

// shoal/plan/fullest_rank.h
void fullest_rank_of(const config::RunConfig& config) {
  const Mesh mesh = mesh_of(config.parallel, 16'384);
  const FullestRank fullest = fullest_rank(PlannedJob(config, mesh));
  fullest.plan.rank, fullest.memory.peak();
}

// shoal/plan/planned_job.h
void planned_job(const config::RunConfig& config) {
  const PlannedJob job(config, mesh_of(config.parallel, 16'384));
  const PlannedRank rank = job.rank(5);
  rank.plan, rank.program;
}

// shoal/plan/transfer_order.h
void transfer_order(const Schedule& schedule,
                    const Action& action,
                    int stage,
                    const Action& another,
                    int its_stage) {
  const TransferOrder order(schedule);
  if (order.of(action, stage) < order.of(another, its_stage)) return;
}

// shoal/plan/choice.h
void choices(const config::RunConfig& config, const config::ClusterConfig& cluster) {
  for (const Choice& choice : choices_of(config, cluster, /*ranks=*/16'384)) with(config, choice);
}

// shoal/plan/layout_bounds.h
void layout_bounds(const config::RunConfig& config,
                   const config::ClusterConfig& cluster,
                   const Choice& choice) {
  LayoutBounds bounds(config, cluster);
  bounds.of(choice).seconds;
  bounds.of(choice).bytes;
}

// shoal/plan/advice.h
void advice(const SearchResult& found,
            const config::RunConfig& config,
            const config::ClusterConfig& cluster,
            const std::function<void(const std::string&)>& print) {
  for (const std::string& line : reasons_for(found.best.front(), config, cluster)) print(line);
}

// shoal/plan/run_forecast.h
void run_forecast_of(const config::RunConfig& config,
                     const config::ClusterConfig& cluster,
                     const StepTime& time) {
  const RunForecast run = run_forecast(config, cluster, /*ranks=*/16'384, time.seconds);
  run.days, run.cost, run.lost_share;
}

// shoal/plan/search.h
void search_of(const config::RunConfig& config, const config::ClusterConfig& cluster) {
  const SearchResult found = search(config, cluster, /*ranks=*/16'384);
  found.best.front().choice, found.best.front().time.seconds;
}

// shoal/plan/roles.h
void roles_of_ranks(const config::RunConfig& config) {
  const std::vector<Role> roles = roles_of(config, mesh_of(config.parallel, 16'384));
  roles[0].plan.rank, roles[0].ranks;
}

// shoal/plan/device_allowance.h
void device_allowance_beside(const RankPlan& plan) {
  const Memory memory = memory_of(plan, training_program(plan));
  const DeviceAllowance beside = device_allowance(DeviceKind::kGpu, plan, memory);
  memory.peak() + beside.total();
}

// shoal/plan/memory.h
void memory_of(const config::RunConfig& config) {
  const Memory memory = memory_of_step(config, mesh_of(config.parallel, 4), /*rank=*/0);
  memory.state(), memory.peak();
}

// shoal/plan/replicas.h
TEST(HeaderExamples, Replicas) {
  const config::RunConfig config = config::load_or_throw(
      {.sets = {"parallel.sharding=hybrid_shard", "parallel.dp_replicate=2", "train.batch=8"},
       .job = config::JobSize{8, 8}});
  const cluster::Round over{.number = 0, .seats = {0, 1, 2, 3, 4, 5, 6, 7}};
  const cluster::RoundEnd end{.reports = {{0, 41}, {1, 41}, {2, 41}, {3, 41}, {4, 41}, {5, 41}},
                              .waiting = {}};
  const cluster::RoundDecision next = without_lost_replicas(config, /*ranks=*/8, over, end);
  EXPECT_THAT(next.seats, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(replicas_left(config.parallel, 8, 4).dp_replicate, 1);
}

// shoal/plan/other_ranks.h
TEST(HeaderExamples, OtherRanks) {
  const config::RunConfig config =
      config::load_or_throw({.sets = {"model.vocab_size=499", "train.batch=12"}});
  const config::ClusterConfig cluster;
  const OtherLayout found = layout_for(config, cluster, {.ranks = 6, .ranks_per_node = 2});
  EXPECT_EQ(mesh_of(found.config.parallel, 6).num_ranks(), 6);
  EXPECT_FALSE(found.choice.describe().empty());
}

// shoal/plan/mesh.h
TEST(HeaderExamples, Mesh) {
  const Mesh mesh({{Axis::kPp, 2}, {Axis::kDpShard, 2}, {Axis::kTp, 2}});
  EXPECT_THAT(mesh.coordinate(5), ElementsAre(1, 0, 1));
  EXPECT_THAT(mesh.peers(5, Axis::kDpShard), ElementsAre(5, 7));
  EXPECT_THAT(mesh.peers(5, {Axis::kPp, Axis::kTp}), ElementsAre(0, 1, 4, 5));
}

// shoal/plan/nodes.h
TEST(HeaderExamples, Nodes) {
  const Mesh mesh({{Axis::kDpShard, 2}, {Axis::kTp, 8}});
  const Nodes nodes = Nodes::uniform(/*num_ranks=*/16, /*ranks_per_node=*/8);
  EXPECT_EQ(max_nodes_per_group(mesh, Axis::kTp, nodes), 1);
}

// shoal/plan/program.h
void program(const config::RunConfig& config, const Mesh& mesh) {
  const RankPlan plan = plan_of(config, mesh, /*rank=*/5);
  const Program program = training_program(plan);
  std::cout << to_text(plan, program);
}

// shoal/plan/program_check.h
void program_check(const config::RunConfig& config) {
  for (const config::Problem& problem : check_job(config, /*ranks=*/16'384))
    std::cout << problem.what;
}

// shoal/plan/rank_plan.h
void rank_plan(const config::RunConfig& config) {
  const RankPlan plan = plan_of(config, mesh_of(config.parallel, 16'384), /*rank=*/0);
  plan.stages[0].groups[0].shard;
}

// shoal/plan/schedule.h
TEST(HeaderExamples, Schedule) {
  const int rank = 3;
  const Schedule schedule = one_f_one_b({.ranks = 4, .micro_batches = 8});
  for (const Action& action : schedule.actions(rank)) {
    const int stage = schedule.stage_of(rank, action.chunk);
    EXPECT_EQ(stage, 3);
  }
}

// shoal/plan/schedule_check.h
TEST(HeaderExamples, ScheduleCheck) {
  const Schedule schedule = gpipe({.ranks = 2, .micro_batches = 3});
  require_complete(schedule, "my_schedule.txt");
}

// shoal/plan/schedule_simulation.h
TEST(HeaderExamples, ScheduleSimulation) {
  const Schedule schedule = gpipe({.ranks = 2, .micro_batches = 3});
  const Simulation run = simulate(schedule, even_times(schedule, {.forward = 1, .backward = 2}));
  run.require_finished("my_schedule.txt");
  run.seconds, run.idle_share;
  EXPECT_EQ(run.ranks[0].peak_in_flight, 3);
}

// shoal/plan/stages.h
TEST(HeaderExamples, Stages) {
  const std::vector<blueprint::UnitRange> stages = cut_into_stages(/*blocks=*/10, /*stages=*/4);
  std::vector<int> blocks;
  for (const blueprint::UnitRange& stage : stages) blocks.push_back(stage.blocks);
  EXPECT_THAT(blocks, ElementsAre(2, 3, 3, 2));
}

// shoal/plan/volume.h
void volume(const config::RunConfig& config) {
  const Mesh mesh = mesh_of(config.parallel, 16'384);
  for (const Volume& volume : volume_of_step(config, mesh, /*rank=*/0))
    volume.calls, volume.bytes, sent_bytes(volume);
}

// shoal/plan/whole_matrices.h
void whole_matrices(const config::RunConfig& config, const Mesh& mesh, int rank) {
  const auto use = [](const MatrixRound&) {};
  for (const MatrixRound& round : matrix_rounds(config, mesh, rank)) use(round);
}

}  // namespace
}  // namespace shoal::plan

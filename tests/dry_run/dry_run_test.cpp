// A dry run says in words where a step is not what its program says, and runs at any world size.

#include "shoal/dry_run/dry_run.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/quantities.h"
#include "shoal/dry_run/meta_memory.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/roles.h"

#include "tests/support/source_dir.h"

namespace shoal::dry_run {
namespace {

using plan::OpKind;
using plan::Program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRanks = 4;

config::RunConfig small(std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {
      "model.layers=3",     "model.width=24",      "model.heads=3",
      "model.context=11",   "train.batch=7",       "train.steps=3",
      "optimizer.warmup=1", "model.vocab_size=53", "parallel.sharding=full_shard"};
  sets.insert(sets.end(), more.begin(), more.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{kRanks, kRanks}});
}

plan::RankPlan plan_of(const config::RunConfig& config, int rank = 1) {
  return plan::plan_of(config, plan::mesh_of(config.parallel, kRanks), rank);
}

Program::iterator first_of(Program& program, OpKind kind) {
  return std::find_if(program.begin(), program.end(),
                      [kind](const plan::Operation& each) { return each.kind == kind; });
}

std::string text_of(const DryRun& found) { return found.difference.value_or(""); }

TEST(DryRunStep, IsWhatItsProgramSays) {
  const config::RunConfig config = small();
  const plan::RankPlan plan = plan_of(config);
  const Program program = plan::training_program(plan);
  const DryRun found = run_dry(config, plan, program);
  EXPECT_THAT(text_of(found), IsEmpty());
  EXPECT_EQ(found.operations, program.size());
  EXPECT_EQ(found.traffic, traffic_of(plan, program));
  EXPECT_GT(found.peak, found.state);
  EXPECT_FALSE(found.difference_of_memory());
}

// The step runs a program that lacks a gather: its unit has no weights.
TEST(DryRunStep, FailsInWordsWhereAnExecutedProgramLacksAGather) {
  const config::RunConfig config = small({"parallel.prefetch=0"});
  const plan::RankPlan plan = plan_of(config);
  const Program program = plan::training_program(plan);
  Program broken = program;
  broken.erase(first_of(broken, OpKind::kGather));
  broken.erase(first_of(broken, OpKind::kAwaitGather));
  const std::string text = text_of(run_dry(config, plan, program, broken));
  EXPECT_THAT(text, AllOf(HasSubstr("operation 1: the program says gather embedding"),
                          HasSubstr("the step fails in operation 1, forward embedding"),
                          HasSubstr("the weights of embedding are read before they are gathered")));
}

TEST(DryRunStep, NamesAnOperationThatWasNotRun) {
  const config::RunConfig config = small();
  const plan::RankPlan plan = plan_of(config);
  const Program program = plan::training_program(plan);
  Program broken = program;
  const auto norm = first_of(broken, OpKind::kSumLoss);
  const auto place = norm - broken.begin();
  broken.erase(norm);
  EXPECT_THAT(
      text_of(run_dry(config, plan, program, broken)),
      HasSubstr(format("operation {}: the program says sum loss, and the step ran", place)));
}

TEST(DryRunStep, NamesOperationsThatWereSwapped) {
  const config::RunConfig config = small();
  const plan::RankPlan plan = plan_of(config);
  Program program = plan::training_program(plan);
  const auto release = first_of(program, OpKind::kRelease);
  const auto place = release - program.begin();
  const std::string released = plan::describe(plan, *release);
  const std::string next = plan::describe(plan, *(release + 1));
  std::iter_swap(release, release + 1);
  EXPECT_EQ(
      text_of(run_dry(config, plan, program)),
      format("operation {}: the program says {}, and the step ran {}", place, next, released));
}

TEST(DryRunStep, NamesACollectiveOfOtherBytes) {
  const config::RunConfig config = small();
  const plan::RankPlan plan = plan_of(config);
  plan::RankPlan larger = plan;
  larger.stages[0].groups[1].whole += 4;  // elements of the first block
  const Program program = plan::training_program(plan);
  const std::string text = text_of(run_dry(config, larger, program));
  const int64_t bytes = plan.stages[0].groups[1].whole * 4;
  EXPECT_THAT(text, HasSubstr("gather blocks.0"));
  EXPECT_THAT(text,
              HasSubstr(format("the program says all_gather over the 4 ranks of dp_shard with {} "
                               "bytes, and the step made all_gather over the 4 ranks of "
                               "dp_shard with {} bytes",
                               bytes + 16, bytes)));
}

// Two reductions change places: the calls are the same, their order is not.
TEST(DryRunStep, NamesCollectivesInAnotherOrder) {
  const config::RunConfig config = small();
  const plan::RankPlan plan = plan_of(config);
  const Program program = plan::training_program(plan);
  Program broken = program;
  const auto first = first_of(broken, OpKind::kReduce);
  const auto second = std::find_if(first + 1, broken.end(), [](const plan::Operation& each) {
    return each.kind == OpKind::kReduce;
  });
  ASSERT_NE(second, broken.end());
  const std::string expected = plan::describe(plan, *first);
  std::iter_swap(first, second);
  EXPECT_THAT(text_of(run_dry(config, plan, program, broken)),
              AllOf(HasSubstr("operation"), HasSubstr(expected)));
}

// A trace whose last operation makes a call more, or one less.
TEST(StepTraceDifference, NamesACallTooManyAndOneTooFew) {
  const config::RunConfig config = small();
  const plan::RankPlan plan = plan_of(config);
  const Program program = {{.kind = OpKind::kNorm}};
  const comm::Call norm{
      .op = comm::Op::kAllReduce, .group = "dp_shard", .group_size = 4, .bytes = 4};
  const auto difference = [&](int calls, bool outside) {
    StepTrace trace;
    trace.before(program[0]);
    for (int i = 0; i < calls; ++i) trace.on_call(norm);
    trace.after(program[0]);
    if (outside) trace.on_call(norm);
    return first_difference(plan, program, trace).value_or("");
  };
  EXPECT_THAT(difference(1, false), IsEmpty());
  EXPECT_THAT(difference(0, false), HasSubstr("which the step did not make"));
  EXPECT_THAT(difference(2, false), HasSubstr("of which the program says nothing"));
  EXPECT_THAT(difference(1, true), HasSubstr("outside of its operations"));
}

TEST(DryRunStep, SaysThatMemoryIsNotWhatWasPlanned) {
  DryRun found{.peak = 106 << 20, .planned = {.weights = 100 << 20}};
  EXPECT_FALSE(found.difference_of_memory());
  found.peak = (106 << 20) + 1;
  EXPECT_THAT(found.difference_of_memory().value_or(""), HasSubstr("were planned"));
  found.peak = (94 << 20) - 1;
  EXPECT_TRUE(found.difference_of_memory());
}

TEST(MetaMemory, CountsATensorUntilItsLastViewIsGone) {
  MetaMemory& memory = MetaMemory::installed();
  const int64_t before = memory.current();
  constexpr int64_t kElements = int64_t{1} << 40;
  at::Tensor view;
  {
    const at::Tensor x =
        at::empty({kElements}, at::TensorOptions().device(at::kMeta).dtype(at::kFloat));
    view = x.narrow(0, 3, 5);
    EXPECT_EQ(memory.current() - before, 4 * kElements);
  }
  EXPECT_EQ(memory.current() - before, 4 * kElements);
  memory.take_peak();
  view = at::Tensor();
  EXPECT_EQ(memory.current(), before);
  EXPECT_EQ(memory.take_peak() - before, 4 * kElements);
  EXPECT_EQ(memory.take_peak(), before);
}

// ---- roles ----

std::vector<std::pair<int, int>> ranks_of(const std::vector<plan::Role>& roles) {
  std::vector<std::pair<int, int>> ranks;
  for (const plan::Role& role : roles) ranks.emplace_back(role.plan.rank, role.ranks);
  return ranks;
}

// Seven sequences on four data ranks: one has one, and three have two.
TEST(Roles, AreDataRanksWithOtherRows) {
  const config::RunConfig config = small();
  EXPECT_EQ(ranks_of(plan::roles_of(config, plan::mesh_of(config.parallel, kRanks))),
            (std::vector<std::pair<int, int>>{{0, 1}, {1, 3}}));
}

TEST(Roles, AreStagesAndTensorPlaces) {
  const config::RunConfig config = small({"parallel.pp=2", "parallel.tp=2", "train.micro_batch=1"});
  const auto roles = ranks_of(plan::roles_of(config, plan::mesh_of(config.parallel, kRanks)));
  EXPECT_EQ(roles, (std::vector<std::pair<int, int>>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
}

// Every rank of a small job that is not run has a role that is.
TEST(Roles, CoverAllRanks) {
  for (const char* layout : {"parallel.dp_replicate=2", "parallel.tp=2", "parallel.pp=2"}) {
    const config::RunConfig config = small({layout});
    int ranks = 0;
    for (const plan::Role& role : plan::roles_of(config, plan::mesh_of(config.parallel, kRanks)))
      ranks += role.ranks;
    EXPECT_EQ(ranks, kRanks) << layout;
  }
}

TEST(DryRunStep, OfSixteenThousandRanksTakesSeconds) {
  constexpr int kMany = 16'384;
  const config::RunConfig config = config::load_or_throw(
      {.file = (tests::source_dir() / "configs/llama3_405b.yaml").string(),
       .sets = {"parallel.tp=8", "parallel.pp=16", "parallel.sharding=full_shard"},
       .job = config::JobSize{kMany, 8}});
  const std::vector<plan::Role> roles =
      plan::roles_of(config, plan::mesh_of(config.parallel, kMany));
  int ranks = 0;
  for (const plan::Role& role : roles) ranks += role.ranks;
  EXPECT_EQ(ranks, kMany);
  for (const size_t which : {size_t{0}, roles.size() / 2, roles.size() - 1}) {
    const plan::Role& role = roles[which];
    const DryRun found = run_dry(config, role.plan, role.program);
    std::printf("rank %d and %d alike: %zu operations, peak %s, planned %s, in %.2f s\n",
                role.plan.rank, role.ranks - 1, found.operations, format_bytes(found.peak).c_str(),
                format_bytes(found.planned.peak()).c_str(), found.seconds);
    EXPECT_THAT(text_of(found), IsEmpty());
    EXPECT_FALSE(found.difference_of_memory());
  }
}

}  // namespace
}  // namespace shoal::dry_run

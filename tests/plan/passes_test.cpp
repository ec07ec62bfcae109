// Each pass by itself: what it makes of a small program, in short words. "F" forward, "R" recompute, "B" backward, then
// unit.micro-batch; other operations by name and group.

#include "shoal/plan/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/plan/layout.h"

namespace shoal::plan {
namespace {

using Sets = std::vector<std::string>;

std::string word_of(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::kForward:
      return format("F{}.{}{}", operation.index, operation.micro_batch,
                    operation.keeps == Keeps::kAll ? "" : "-");
    case OpKind::kRecompute:
      return format("R{}.{}", operation.index, operation.micro_batch);
    case OpKind::kBackward:
      return format("B{}.{}", operation.index, operation.micro_batch);
    case OpKind::kReceive:
    case OpKind::kAwaitReceive:
    case OpKind::kSend:
    case OpKind::kAwaitSend:
      return format("{} {}{}", name_of(operation.kind), operation.pass == Op::kForward ? "x" : "g",
                    operation.micro_batch);
    case OpKind::kCountTargets:
    case OpKind::kSumLoss:
    case OpKind::kNorm:
      return std::string(name_of(operation.kind));
    default:
      return format("{} {}", name_of(operation.kind), operation.index);
  }
}

std::string text_of(const Program& program) {
  std::string text;
  for (const Operation& operation : program)
    text += (text.empty() ? "" : ", ") + word_of(operation);
  return text;
}

// A decoder of two blocks: units 0 embedding, 1, 2 blocks, 3 head; without a tied head each is a group.
RankPlan plan_for(const Sets& more, int ranks, int rank = 0) {
  Sets sets = {"model.layers=2",      "model.width=12",
               "model.heads=3",       "model.context=7",
               "model.vocab_size=29", "model.tied=false",
               "train.batch=6",       "parallel.units=by_block_and_size"};
  sets.insert(sets.end(), more.begin(), more.end());
  const config::RunConfig config =
      config::load_or_throw({.sets = sets, .job = config::JobSize{.ranks = ranks}});
  return plan_of(config, mesh_of(config.parallel, ranks), rank);
}

Program units_of_step(const RankPlan& plan) {
  return with_units(plan, plan.schedule.actions(plan.pipeline_rank));
}

TEST(WithUnits, GoesForwardFromTheFirstAndBackwardFromTheLast) {
  EXPECT_EQ(text_of(units_of_step(plan_for({"train.micro_batch=3"}, 1))),
            "F0.0, F1.0, F2.0, F3.0, B3.0, B2.0, B1.0, B0.0, "
            "F0.1, F1.1, F2.1, F3.1, B3.1, B2.1, B1.1, B0.1");
}

// In the time of passes the gradients of micro-batch 0 leave the second rank at 4, and x1 the first at 2: they are posted in this
// order by both.
TEST(WithTransfers, PostsTransfersInOneOrderAndAwaitsWhatHasBeenTaken) {
  const RankPlan first = plan_for({"parallel.pp=2", "train.micro_batch=2"}, 2, 0);
  EXPECT_EQ(text_of(with_transfers(first, TransferOrder(first.schedule), units_of_step(first))),
            "F0.0, F1.0, send x0, F0.1, F1.1, send x1, "
            "receive g0, await receive g0, await send x0, B1.0, B0.0, "
            "F0.2, F1.2, send x2, "
            "receive g1, await receive g1, await send x1, receive g2, B1.1, B0.1, "
            "await receive g2, await send x2, B1.2, B0.2");
  const RankPlan last = plan_for({"parallel.pp=2", "train.micro_batch=2"}, 2, 1);
  EXPECT_EQ(text_of(with_transfers(last, TransferOrder(last.schedule), units_of_step(last))),
            "receive x0, await receive x0, F0.0, F1.0, receive x1, B1.0, B0.0, send g0, "
            "await receive x1, F0.1, F1.1, receive x2, B1.1, B0.1, send g1, "
            "await receive x2, await send g0, F0.2, F1.2, B1.2, B0.2, send g2, "
            "await send g1, await send g2");
}

TEST(WithTransfers, HandsOnForwardPassesAtOnce) {
  const RankPlan plan = plan_for({"parallel.pp=2", "train.micro_batch=2"}, 2, 1);
  EXPECT_EQ(
      text_of(forward_program(plan, 2)),
      "receive x0, await receive x0, F0.0-, F1.0-, receive x1, await receive x1, F0.1-, F1.1-");
}

TEST(WithRecomputation, RunsBlocksAgain) {
  const RankPlan plan = plan_for({"train.recompute=full"}, 1);
  EXPECT_EQ(text_of(with_recomputation(plan, units_of_step(plan))),
            "F0.0, F1.0-, F2.0-, F3.0, B3.0, R2.0, B2.0, R1.0, B1.0, B0.0");
  const RankPlan selective = plan_for({"train.recompute=selective"}, 1);
  EXPECT_EQ(text_of(with_recomputation(selective, units_of_step(selective))),
            text_of(units_of_step(selective)));
}

// The last group of a forward pass is the first of the backward pass, and stays.
constexpr const char* kFullShard =
    "gather 0, await gather 0, F0.0, release 0, gather 1, await gather 1, F1.0, release 1, "
    "gather 2, await gather 2, F2.0, release 2, gather 3, await gather 3, F3.0, "
    "B3.0, release 3, gather 2, await gather 2, B2.0, release 2, "
    "gather 1, await gather 1, B1.0, release 1, gather 0, await gather 0, B0.0, release 0";

TEST(WithGathers, GathersBeforeEachUseAndReleasesBehindIt) {
  const RankPlan plan = plan_for({"parallel.sharding=full_shard"}, 2);
  EXPECT_EQ(text_of(with_gathers(plan, units_of_step(plan))), kFullShard);
}

TEST(WithGathers, LeavesWholeWhatThePolicyKeeps) {
  const RankPlan until_backward = plan_for({"parallel.sharding=shard_grad_op"}, 2);
  EXPECT_EQ(text_of(with_gathers(until_backward, units_of_step(until_backward))),
            "gather 0, await gather 0, F0.0, gather 1, await gather 1, F1.0, "
            "gather 2, await gather 2, F2.0, gather 3, await gather 3, F3.0, "
            "B3.0, release 3, B2.0, release 2, B1.0, release 1, B0.0, release 0");
  const RankPlan always = plan_for({"parallel.sharding=optimizer"}, 2);
  EXPECT_EQ(text_of(with_gathers(always, units_of_step(always))),
            "await gather 0, F0.0, await gather 1, F1.0, await gather 2, F2.0, "
            "await gather 3, F3.0, B3.0, B2.0, B1.0, B0.0")
      << "the update of the step before has gathered them";
}

TEST(WithGathers, KeepsAGroupWholeBetweenItsUnits) {
  const RankPlan plan =
      plan_for({"parallel.sharding=full_shard", "model.tied=true", "parallel.units=by_block"}, 2);
  EXPECT_EQ(text_of(with_gathers(plan, units_of_step(plan))),
            "gather 0, await gather 0, F0.0, gather 1, await gather 1, F1.0, release 1, "
            "gather 2, await gather 2, F2.0, release 2, F3.0, "
            "B3.0, gather 2, await gather 2, B2.0, release 2, "
            "gather 1, await gather 1, B1.0, release 1, B0.0, release 0");
}

TEST(WithPrefetch, StartsAGatherSoManyGroupsAhead) {
  const auto prefetched = [](const char* distance) {
    const RankPlan plan =
        plan_for({"parallel.sharding=full_shard", std::string("parallel.prefetch=") + distance}, 2);
    return text_of(with_prefetch(plan, with_gathers(plan, units_of_step(plan))));
  };
  EXPECT_EQ(prefetched("0"), kFullShard);
  EXPECT_EQ(prefetched("1"),
            "gather 0, await gather 0, gather 1, F0.0, release 0, await gather 1, gather 2, F1.0, "
            "release 1, await gather 2, gather 3, F2.0, release 2, await gather 3, F3.0, "
            "gather 2, B3.0, release 3, await gather 2, gather 1, B2.0, release 2, "
            "await gather 1, gather 0, B1.0, release 1, await gather 0, B0.0, release 0");
  EXPECT_EQ(prefetched("2"),
            "gather 0, await gather 0, gather 1, gather 2, F0.0, release 0, await gather 1, "
            "gather 3, F1.0, release 1, await gather 2, F2.0, release 2, await gather 3, F3.0, "
            "gather 2, gather 1, B3.0, release 3, await gather 2, gather 0, B2.0, release 2, "
            "await gather 1, B1.0, release 1, await gather 0, B0.0, release 0");
}

TEST(WithReductions, HasOneReductionOnItsWayAndSumsReplicasOnce) {
  const RankPlan plan = plan_for({"parallel.sharding=hybrid_shard", "parallel.dp_replicate=2",
                                  "train.batch=8", "train.micro_batch=1"},
                                 4);
  EXPECT_EQ(text_of(with_reductions(plan, units_of_step(plan))),
            "F0.0, F1.0, F2.0, open gradients 3, F3.0, B3.0, reduce 3, "
            "open gradients 2, B2.0, await reduce 3, reduce 2, "
            "open gradients 1, B1.0, await reduce 2, reduce 1, "
            "open gradients 0, B0.0, await reduce 1, reduce 0, "
            "F0.1, F1.1, F2.1, open gradients 3, F3.1, B3.1, await reduce 0, reduce 3, "
            "open gradients 2, B2.1, await reduce 3, reduce replicas 3, reduce 2, "
            "open gradients 1, B1.1, await reduce 2, reduce replicas 2, reduce 1, "
            "open gradients 0, B0.1, await reduce 1, reduce replicas 1, reduce 0, "
            "await reduce 0, reduce replicas 0, await replicas 0, await replicas 1, "
            "await replicas 2, await replicas 3");
}

TEST(WithReductions, KeepsGradientsWholeUntilTheLastMicroBatch) {
  const RankPlan plan =
      plan_for({"parallel.sharding=optimizer", "train.batch=4", "train.micro_batch=1"}, 2);
  EXPECT_EQ(text_of(with_reductions(plan, units_of_step(plan))),
            "F0.0, F1.0, F2.0, open gradients 3, F3.0, B3.0, open gradients 2, B2.0, "
            "open gradients 1, B1.0, open gradients 0, B0.0, "
            "F0.1, F1.1, F2.1, F3.1, B3.1, reduce 3, B2.1, await reduce 3, reduce replicas 3, "
            "reduce 2, B1.1, await reduce 2, reduce replicas 2, reduce 1, B0.1, await reduce 1, "
            "reduce replicas 1, reduce 0, await reduce 0, reduce replicas 0, "
            "await replicas 0, await replicas 1, await replicas 2, await replicas 3");
}

TEST(WithReductions, SumsOverTensorRanksAndBothEndsFirst) {
  const RankPlan plan = plan_for({"model.tied=true", "parallel.pp=2", "parallel.tp=2"}, 4, 3);
  EXPECT_EQ(text_of(with_reductions(plan, units_of_step(plan))),
            "F0.0, open gradients 1, F1.0, B1.0, open gradients 0, B0.0, sum partial 0, reduce 0, "
            "await reduce 0, reduce replicas 0, sum partial 1, exchange tied 1, reduce 1, "
            "await reduce 1, reduce replicas 1, await replicas 0, await replicas 1");
}

TEST(WithLoss, CountsInFrontAndAddsUpBehind) {
  const RankPlan plan = plan_for({}, 1);
  EXPECT_EQ(text_of(with_loss({units_of_step(plan).front()})), "count targets, F0.0, sum loss");
}

TEST(WithUpdate, EndsWithWhatTheNextStepFindsWhole) {
  const RankPlan plan = plan_for({"parallel.sharding=optimizer"}, 2);
  EXPECT_EQ(text_of(with_update(plan, {})),
            "norm, update 0, update 1, update 2, update 3, "
            "gather 0, gather 1, gather 2, gather 3");
}

TEST(WithoutLoneGroups, LeavesOneRankWithoutCommunication) {
  EXPECT_EQ(
      text_of(training_program(plan_for({}, 1))),
      "count targets, F0.0, F1.0, F2.0, open gradients 3, F3.0, B3.0, open gradients 2, B2.0, "
      "open gradients 1, B1.0, open gradients 0, B0.0, sum loss, norm, "
      "update 0, update 1, update 2, update 3");
}

}  // namespace
}  // namespace shoal::plan

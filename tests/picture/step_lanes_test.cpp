#include "shoal/picture/step_lanes.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/picture/planned.h"

namespace shoal::picture {
namespace {

using plan::Spent;

struct Recorded {
  plan::StepTime time;
  StepRecorder recorder;
};

Recorded recorded(int ranks, const tests::Sets& sets) {
  const auto [config, mesh] = tests::planned(ranks, sets);
  Recorded result;
  result.time = plan::step_time(plan::PlannedJob(config, mesh).stages(), tests::slow_cluster(),
                                result.recorder.observer());
  return result;
}

const std::vector<std::pair<int, tests::Sets>>& layouts() {
  static const std::vector<std::pair<int, tests::Sets>> all = {
      {1, {}},
      {7, {"parallel.sharding=full_shard"}},
      {6, {"parallel.sharding=optimizer", "train.micro_batch=2", "train.recompute=full"}},
      {12, {"parallel.pp=3", "parallel.tp=2", "train.micro_batch=2"}},
      {4, {"parallel.pp=4", "parallel.schedule=gpipe", "train.micro_batch=3"}},
      {6,
       {"parallel.pp=3", "parallel.schedule=interleaved", "parallel.chunks=3",
        "train.micro_batch=1", "parallel.sharding=full_shard"}}};
  return all;
}

TEST(StepLanes, BlocksAreTheTimeOfTheStage) {
  for (const auto& [ranks, sets] : layouts()) {
    const auto [time, recorder] = recorded(ranks, sets);
    for (const size_t most : {size_t{0}, size_t{1'000'000}}) {
      const std::vector<Lane> lanes = recorder.lanes(time, most);
      ASSERT_EQ(lanes.size(), time.stages.size());
      for (size_t stage = 0; stage < lanes.size(); ++stage) {
        double end = 0;
        std::array<double, plan::kNumSpent> spent{};
        for (const Block& block : lanes[stage].blocks) {
          EXPECT_GE(block.begin, end - 1e-9);
          EXPECT_GT(block.end, block.begin);
          end = block.end;
          const double sum = std::accumulate(block.spent.begin(), block.spent.end(), 0.0);
          EXPECT_NEAR(sum, block.end - block.begin, 1e-6 * time.seconds) << block.name;
          EXPECT_LE(block.lead, block.by(Spent::kWeights) + 1e-12);
          EXPECT_EQ(block.by(Spent::kPipeline), 0);
          for (size_t i = 0; i < spent.size(); ++i) spent[i] += block.spent[i];
        }
        EXPECT_LE(end, time.seconds + 1e-9);
        // Stages begin a step at different times, and what lies before it is cut off.
        for (int i = 0; i < plan::kNumSpent; ++i) {
          const auto what = static_cast<Spent>(i);
          if (what == Spent::kPipeline) continue;
          EXPECT_NEAR(spent[static_cast<size_t>(i)], time.stages[stage].by(what),
                      0.02 * time.seconds)
              << plan::spent_name(what) << " of stage " << stage << " of " << ranks << " ranks";
        }
      }
    }
  }
}

TEST(StepLanes, GapsAreTheBubble) {
  const auto [time, recorder] = recorded(4, layouts()[4].second);
  const std::vector<Lane> lanes = recorder.lanes(time);
  for (size_t stage = 0; stage < lanes.size(); ++stage) {
    double busy = 0;
    for (const Block& block : lanes[stage].blocks) busy += block.end - block.begin;
    EXPECT_NEAR(time.seconds - busy, time.stages[stage].by(Spent::kPipeline), 0.03 * time.seconds);
    EXPECT_GT(time.seconds - busy, 0.1 * time.seconds);
  }
}

TEST(StepLanes, ManyUnitsBecomePasses) {
  const auto [time, recorder] = recorded(12, layouts()[3].second);
  const std::vector<Lane> units = recorder.lanes(time, 1'000'000);
  const std::vector<Lane> passes = recorder.lanes(time, 10);
  int forward = 0;
  for (const Block& block : passes[1].blocks) forward += block.ink == Ink::kForward ? 1 : 0;
  EXPECT_EQ(forward, 7);  // micro-batches: 13 rows, two at a time
  EXPECT_GT(units[1].blocks.size(), 3 * passes[1].blocks.size());
  for (const Block& block : passes[1].blocks) {
    if (block.ink != Ink::kForward) continue;
    EXPECT_EQ(block.name, "forward of micro-batch " + std::to_string(block.micro_batch));
  }
}

TEST(StepLanes, WhatRunsBesideIsInOrder) {
  const auto [time, recorder] = recorded(6, layouts()[5].second);
  bool gathers = false;
  for (const Lane& lane : recorder.lanes(time)) {
    for (const Beside* beside : {&lane.gathers, &lane.reductions, &lane.sends}) {
      for (const auto* intervals : {&beside->runs, &beside->awaits}) {
        double end = -1;
        for (const auto& [begin, to] : *intervals) {
          EXPECT_GT(begin, end);
          EXPECT_GT(to, begin);
          EXPECT_LE(to, time.seconds + 1e-9);
          end = to;
        }
      }
    }
    EXPECT_TRUE(lane.sends.awaits.empty());
    gathers |= !lane.gathers.runs.empty();
    EXPECT_FALSE(lane.sends.runs.empty());
  }
  EXPECT_TRUE(gathers);
}

}  // namespace
}  // namespace shoal::picture

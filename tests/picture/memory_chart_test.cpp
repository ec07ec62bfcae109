#include "shoal/picture/memory_chart.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/picture/elements.h"
#include "tests/picture/planned.h"

namespace shoal::picture {
namespace {

TEST(MemoryChart, AThinnedTimelineKeepsItsPeak) {
  std::mt19937_64 random(3);
  for (const size_t operations : {1U, 2U, 399U, 400U, 401U, 4099U, 41'019U}) {
    std::vector<plan::Memory> timeline(operations);
    for (size_t i = 0; i < operations; ++i) {
      timeline[i].activations = static_cast<int64_t>(random() % 1000);
      timeline[i].operation = i;
    }
    const size_t highest = random() % operations;
    timeline[highest].activations = 5000;
    const std::vector<MemoryColumn> columns = thinned(timeline, 400);
    EXPECT_EQ(columns.size(), std::min<size_t>(operations, 400));
    size_t next = 0;
    bool there = false;
    for (const MemoryColumn& column : columns) {
      EXPECT_EQ(column.begin, next);
      EXPECT_GT(column.end, column.begin);
      EXPECT_GE(column.highest.operation, column.begin);
      EXPECT_LT(column.highest.operation, column.end);
      for (size_t i = column.begin; i < column.end; ++i)
        ASSERT_LE(timeline[i].peak(), column.highest.peak());
      there |= column.highest.operation == highest;
      next = column.end;
    }
    EXPECT_EQ(next, operations);
    EXPECT_TRUE(there);
  }
}

TEST(MemoryChart, PartsAreTheWhole) {
  const auto [config, mesh] =
      tests::planned(12, {"parallel.pp=3", "parallel.tp=2", "train.micro_batch=2"});
  const PlanFacts facts = facts_of(config, mesh, tests::slow_cluster());
  ASSERT_EQ(facts.stages.size(), 3U);
  for (const StageMemory& stage : facts.stages) {
    int64_t sum = 0;
    for (const auto& [ink, bytes] : stage.parts()) sum += bytes;
    EXPECT_EQ(sum, stage.total());
    EXPECT_GE(facts.fullest_stage().total(), stage.total());
    EXPECT_EQ(mesh.coordinate(stage.peak.rank, plan::Axis::kPp), &stage - facts.stages.data());
  }
  EXPECT_EQ(facts.fullest.memory.peak(), facts.fullest_stage().peak.memory.peak());
  EXPECT_EQ(facts.fullest.plan.rank, plan::fullest_rank(plan::PlannedJob(config, mesh)).plan.rank);
}

// The widths of a stage's bar are its bytes.
TEST(MemoryChart, BarsAreBytes) {
  const auto [config, mesh] = tests::planned(4, {"parallel.pp=2", "train.micro_batch=2"});
  const PlanFacts facts = facts_of(config, mesh, std::nullopt);
  Markup markup;
  draw_stage_memory(markup, facts);
  double widths = 0;
  for (const tests::Element& rect :
       tests::with_tag(tests::elements_of(std::move(markup).finish()), "rect"))
    widths += rect.number("width");
  double bytes = 0;
  double most = 0;
  for (const StageMemory& stage : facts.stages) {
    bytes += static_cast<double>(stage.total());
    most = std::max(most, static_cast<double>(stage.total()));
  }
  EXPECT_NEAR(widths, 10'000 * bytes / (1.06 * most), 1);
}

TEST(PlanFacts, SomeOfManyHaveTheFirstTheKeptAndTheLast) {
  using Some = std::vector<size_t>;
  EXPECT_EQ(some_of(3, 8, 1), (Some{0, 1, 2}));
  EXPECT_EQ(some_of(8, 8, 1), (Some{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(some_of(9, 3, 4), (Some{0, 4, 8}));
  EXPECT_EQ(some_of(9, 3, 0), (Some{0, 1, 8}));
  EXPECT_EQ(some_of(4096, 4, 4095), (Some{0, 1, 2, 4095}));
}

}  // namespace
}  // namespace shoal::picture

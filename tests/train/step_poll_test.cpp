#include "shoal/train/step_poll.h"

#include <gtest/gtest.h>

#include "shoal/comm/world.h"

#include "tests/support/run_ranks.h"

namespace shoal::train {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST(StepPoll, AnswersAreOfAllRanksAndOfTheQuestionBefore) {
  tests::run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 30s, .rendezvous = 30s});
    {
      StepPoll poll(world->control());
      EXPECT_FALSE(poll.answer().has_value());
      poll.ask({.memory_bytes = 100 + me.rank, .save = {.busy = me.rank == 1}});
      const auto quiet = poll.answer();
      ASSERT_TRUE(quiet.has_value());
      EXPECT_FALSE(quiet->stop);
      EXPECT_FALSE(quiet->taken_over);
      EXPECT_EQ(quiet->memory_bytes, 102);
      EXPECT_TRUE(quiet->save.busy);
      EXPECT_FALSE(quiet->save.failed);
      EXPECT_FALSE(poll.answer().has_value());  // each answer is given once
      poll.ask({.stop = me.rank == 2,
                .taken_over = me.rank == 0,
                .memory_bytes = 7,
                .save = {.failed = me.rank == 1}});
      const auto loud = poll.answer();
      ASSERT_TRUE(loud.has_value());
      EXPECT_TRUE(loud->stop);
      EXPECT_TRUE(loud->taken_over);
      EXPECT_EQ(loud->memory_bytes, 7);
      EXPECT_FALSE(loud->save.busy);
      EXPECT_TRUE(loud->save.failed);
    }
    world->leave();
  });
}

TEST(StepPoll, ARankAloneAnswersItself) {
  const auto world = comm::World::record(/*rank=*/0, /*world_size=*/1, nullptr);
  StepPoll poll(world->control());
  EXPECT_FALSE(poll.answer().has_value());
  poll.ask({.stop = true, .memory_bytes = 5});
  const auto all = poll.answer();
  ASSERT_TRUE(all.has_value());
  EXPECT_TRUE(all->stop);
  EXPECT_EQ(all->memory_bytes, 5);
}

}  // namespace
}  // namespace shoal::train

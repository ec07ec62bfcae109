#include "shoal/train/run_checkpoints.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/state/checkpoint_store.h"

#include "tests/support/error_text.h"
#include "tests/support/one_rank.h"
#include "tests/support/temp_dir.h"

namespace shoal::train {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const state::Values kRun = {
    {"data", "d7"}, {"config", "c"}, {"trained", "model.layers: 2\nmodel.heads: 4\n"}};

class RunCheckpointsTest : public ::testing::Test {
 protected:
  RunCheckpointsTest()
      : config_(config::load_or_throw(
            {.sets = {"model.layers=1", "model.width=12", "model.heads=3", "model.context=7",
                      "model.vocab_size=29", "train.background_save=false", "train.keep=2"},
             .job = config::JobSize{.ranks = 1}})),
        rank_(config_, {.seed = 1}) {}

  [[nodiscard]] checkpoint::TrainingState state() { return {rank_.world(), rank_.model()}; }
  [[nodiscard]] RunCheckpoints open() {
    return {rank_.world(), dir_ / "checkpoints", config_.train, [this] { return owns_; }};
  }
  [[nodiscard]] std::optional<state::BestCheckpoint> best() const {
    return state::best(dir_ / "checkpoints");
  }

  tests::TempDir dir_;
  config::RunConfig config_;
  tests::OneRank rank_;
  bool owns_ = true;
};

TEST_F(RunCheckpointsTest, ResumesWithTheProgressOfTheNewest) {
  RunCheckpoints checkpoints = open();
  EXPECT_FALSE(checkpoints.exist());
  checkpoints.save({.step = 3, .tokens = 21, .skipped = 1, .next_sample = 9}, state(), kRun, {});
  checkpoints.save({.step = 5, .tokens = 35, .skipped = 2, .next_sample = 15}, state(), kRun, {});
  EXPECT_TRUE(checkpoints.exist());
  const Progress found = open().resume(state(), kRun).progress;
  EXPECT_EQ(found.step, 5);
  EXPECT_EQ(found.tokens, 35);
  EXPECT_EQ(found.skipped, 2);
  EXPECT_EQ(found.next_sample, 15U);
  state::Values other = kRun;
  other["data"] = "d8";
  EXPECT_THAT(error_text<UsageError>([&] { (void)open().resume(state(), other); }),
              HasSubstr("trained on other data"));
  other = kRun;
  other["trained"] = "model.layers: 2\nmodel.heads: 2\n";
  EXPECT_THAT(error_text<UsageError>([&] { (void)open().resume(state(), other); }),
              HasSubstr("was trained with model.heads: 4, not 2"));
}

TEST_F(RunCheckpointsTest, TheBestSurvivesThePruningAndTheProcess) {
  RunCheckpoints checkpoints = open();
  EXPECT_TRUE(checkpoints.is_best(2.5));
  EXPECT_FALSE(checkpoints.is_best(std::nullopt));
  EXPECT_FALSE(checkpoints.is_best(kNan));
  checkpoints.save({.step = 1}, state(), kRun, {.val_loss = 2.5});
  for (int64_t step = 2; step < 6; ++step) checkpoints.save({.step = step}, state(), kRun, {});
  EXPECT_FALSE(checkpoints.is_best(2.5));
  EXPECT_TRUE(checkpoints.is_best(2.25));
  ASSERT_TRUE(best().has_value());
  EXPECT_EQ(best()->step, 1U);
  RunCheckpoints later = open();
  EXPECT_FALSE(later.is_best(2.75));
  EXPECT_TRUE(later.is_best(2.25));
}

// A failed save is neither a checkpoint nor the best one.
TEST_F(RunCheckpointsTest, AnotherJobsRunIsNotWrittenTo) {
  RunCheckpoints checkpoints = open();
  checkpoints.save({.step = 1}, state(), kRun, {.val_loss = 2.5});
  owns_ = false;
  checkpoints.save({.step = 2}, state(), kRun, {.val_loss = 1.5});
  EXPECT_TRUE(checkpoints.is_best(2.0));
  EXPECT_EQ(best()->step, 1U);
  EXPECT_THAT(
      error_text<DataError>([&] { checkpoints.save({.step = 3}, state(), kRun, {.wait = true}); }),
      HasSubstr("taken this run over"));
  owns_ = true;
  EXPECT_EQ(open().resume(state(), kRun).progress.step, 1);
}

TEST_F(RunCheckpointsTest, ASaveThatIsDueBeforeTheLastIsOverIsLeftOut) {
  config_.train.background_save = true;
  RunCheckpoints checkpoints = open();
  checkpoints.prepare(state());
  checkpoints.save({.step = 1}, state(), kRun, {});
  checkpoints.save({.step = 2}, state(), kRun, {});  // nothing has advanced the first
  checkpoints.finish();
  EXPECT_EQ(open().resume(state(), kRun).progress.step, 1);
  checkpoints.save({.step = 3}, state(), kRun, {.wait = true});
  EXPECT_EQ(open().resume(state(), kRun).progress.step, 3);
}

TEST_F(RunCheckpointsTest, AdvancesOnTheStatusOfItsOwnPhase) {
  config_.train.background_save = true;
  RunCheckpoints checkpoints = open();
  const checkpoint::SaveStatus idle = checkpoints.status();
  checkpoints.save({.step = 1}, state(), kRun, {});
  checkpoints.advance(idle);  // said before the save began: it must not count as "done"
  EXPECT_FALSE(checkpoints.exist());
  while (!checkpoints.exist()) checkpoints.advance(checkpoints.status());
  EXPECT_EQ(open().resume(state(), kRun).progress.step, 1);
}

}  // namespace
}  // namespace shoal::train

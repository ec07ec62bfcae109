#include "shoal/cluster/watcher.h"

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/store_server.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr Duration kDeadline = 3s;
constexpr Duration kTick = 50ms;
constexpr Duration kPatience = 60s;  // for the store, which answers at once

// A rank of a job, whose step thread is a thread of this test.
struct MonitoredRank {
  std::unique_ptr<ActivityBoard> board = std::make_unique<ActivityBoard>();
  std::shared_ptr<StoreClient> store;
  std::unique_ptr<HeartbeatMonitor> monitor;
  std::optional<Error> error;  // that ended it
};

// Monitors of the ranks of a job with a real store, in virtual time.
class MonitoredJob : public ::testing::Test {
 protected:
  void begin(int ranks) {
    const Secret secret = Secret::random();
    server_ = std::make_unique<StoreServer>(
        StoreServerOptions{.address = "127.0.0.1", .ports = {0}, .secret = secret});
    for (int rank = 0; rank < ranks; ++rank) {
      MonitoredRank& made = ranks_.emplace_back();
      made.store = std::make_shared<StoreClient>(
          StoreClient::connect({.endpoints = {server_->endpoint()}, .secret = secret}, kPatience));
      made.monitor = std::make_unique<HeartbeatMonitor>(WatcherOptions{.rank = rank,
                                                                       .world_size = ranks,
                                                                       .store = made.store,
                                                                       .board = made.board.get(),
                                                                       .deadline = kDeadline},
                                                        now_);
    }
  }

  // Lets time pass, in which all ranks but `silent` check; a rank that fails checks no more.
  void pass(Duration time, int silent = -1) {
    for (const Clock::time_point until = now_ + time; now_ < until;) {
      now_ += kTick;
      for (size_t rank = 0; rank < ranks_.size(); ++rank) {
        MonitoredRank& one = ranks_[rank];
        if (static_cast<int>(rank) == silent || one.error) continue;
        try {
          one.monitor->check(now_);
        } catch (const Error& error) {
          one.error = error;
        }
      }
    }
  }

  Clock::time_point now_ = Clock::now();
  std::unique_ptr<StoreServer> server_;
  std::vector<MonitoredRank> ranks_;
};

TEST_F(MonitoredJob, ARankThatFallsSilentEndsAllOthersAndIsNamed) {
  begin(3);
  for (MonitoredRank& rank : ranks_) rank.monitor->tell_step(40);
  {
    const ActivityBoard::Seat seat(*ranks_[2].board, kStepThread);
    const Activity doing("forward blocks.7");
    pass(kDeadline);
  }
  pass(2 * kDeadline, /*silent=*/2);
  for (const size_t rank : {0, 1}) {
    const std::optional<Error>& error = ranks_[rank].error;
    ASSERT_TRUE(error) << "rank " << rank;
    EXPECT_EQ(error->exit_code(), ExitCode::kRequeue);
    EXPECT_THAT(error->what(), AllOf(HasSubstr("rank 2 does not answer for "),
                                     HasSubstr(", in step 41, forward blocks.7")));
  }
}

TEST_F(MonitoredJob, OneThatWaitsForOthersIsLeftAloneAndSaysWhatItDoes) {
  begin(2);
  const ActivityBoard::Seat seat(*ranks_[1].board, kStepThread);
  const Activity doing("all_gather 'weights' on dp", Pace::kOthers);
  pass(3 * kDeadline);
  EXPECT_FALSE(ranks_[0].error);
  EXPECT_FALSE(ranks_[1].error) << "it waits for others, and is not stuck";
  EXPECT_THAT(what_they_do(*ranks_[0].store, {1}, kPatience),
              MatchesRegex("; rank 1 is on .+, before the first step, all_gather 'weights' on dp"));
}

TEST_F(MonitoredJob, ASilentRankIsReportedBeforeItIsLost) {
  begin(2);
  pass(kDeadline);
  while (!ranks_[0].error && !ranks_[0].store->check({"watch/silent/1"})) pass(kTick, /*silent=*/1);
  EXPECT_FALSE(ranks_[0].error);
  EXPECT_EQ(what_they_do(*ranks_[0].store, {1}, kPatience), "; rank 1 does not answer");
}

TEST_F(MonitoredJob, AStuckThreadEndsItsRank) {
  begin(2);
  ranks_[1].monitor->tell_step(11);
  const ActivityBoard::Seat seat(*ranks_[1].board, kStepThread);
  const Activity doing("waits for the loader");
  pass(kDeadline * 8 / 10);
  EXPECT_FALSE(ranks_[1].error);
  pass(kDeadline * 2 / 10);
  ASSERT_TRUE(ranks_[1].error);
  EXPECT_EQ(ranks_[1].error->exit_code(), ExitCode::kStuck);
  EXPECT_THAT(ranks_[1].error->what(), AllOf(HasSubstr("rank 1 on "), HasSubstr("no progress for "),
                                             HasSubstr("in step 12, waits for the loader")));
  EXPECT_FALSE(ranks_[0].error) << "its thread says nothing";
}

TEST_F(MonitoredJob, OneThatWorksIsNotStuckHoweverLong) {
  begin(2);
  const ActivityBoard::Seat seat(*ranks_[1].board, kStepThread);
  for (int i = 0; i < 20; ++i) {
    const Activity doing("forward");
    pass(kDeadline / 4);
  }
  EXPECT_FALSE(ranks_[1].error);
}

TEST_F(MonitoredJob, AloneItIsReportedAndLeftAlone) {
  begin(1);
  const ActivityBoard::Seat seat(*ranks_[0].board, kStepThread);
  const Activity doing("forward");
  pass(3 * kDeadline);
  EXPECT_FALSE(ranks_[0].error);
}

TEST_F(MonitoredJob, OneThatWasSuspendedRestartsItsTimers) {
  begin(2);
  const ActivityBoard::Seat seat(*ranks_[0].board, kStepThread);
  const Activity doing("forward");
  pass(kDeadline / 2);
  now_ += 10 * kDeadline;  // the whole job stands still
  pass(kDeadline / 2);
  EXPECT_FALSE(ranks_[0].error);
  EXPECT_FALSE(ranks_[1].error);
}

TEST_F(MonitoredJob, AStoreThatIsGoneEndsEveryRank) {
  begin(2);
  server_.reset();
  pass(kDeadline);
  ASSERT_TRUE(ranks_[1].error);
  EXPECT_EQ(ranks_[1].error->exit_code(), ExitCode::kRequeue);
}

// The thread of a watcher runs these checks by the real clock.
TEST(Watcher, EndsARankThatIsStuck) {
  ActivityBoard board;
  const ActivityBoard::Seat seat(board, kStepThread);
  const Activity doing("waits for the loader");
  std::promise<Error> ended;
  const Watcher watcher({.rank = 1,
                         .world_size = 2,
                         .board = &board,
                         .deadline = 200ms,
                         .on_end = [&](const Error& error) { ended.set_value(error); }});
  EXPECT_EQ(ended.get_future().get().exit_code(), ExitCode::kStuck);
}

TEST(Silence, FollowsFromTheDeadline) {
  EXPECT_EQ(silence_of(10min), 30s);
  EXPECT_EQ(silence_of(30s), 5s);
  EXPECT_EQ(silence_of(2s), 2s);
  EXPECT_EQ(patience_of(10min), 9min);
}

}  // namespace
}  // namespace shoal::cluster

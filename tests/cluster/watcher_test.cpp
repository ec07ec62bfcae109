#include "shoal/cluster/watcher.h"

#include <condition_variable>
#include <memory>
#include <mutex>
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

constexpr Duration kDeadline = 3s;  // a busy host may keep a watcher from beating for a second
constexpr Duration kPatience = 30s;

// What the watcher of a rank says when it ends it.
class End {
 public:
  void operator()(const Error& error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    changed_.notify_all();
  }

  std::optional<Error> within(Duration patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return error_.has_value(); });
    return error_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> error_;
};

// A rank of a job, whose step thread is a thread of this test.
struct WatchedRank {
  std::unique_ptr<ActivityBoard> board = std::make_unique<ActivityBoard>();
  std::unique_ptr<End> end = std::make_unique<End>();
  std::shared_ptr<StoreClient> store;
  std::unique_ptr<Watcher> watcher;
};

class WatchedJob : public ::testing::Test {
 protected:
  void begin(int ranks, Duration deadline = kDeadline) {
    const Secret secret = Secret::random();
    server_ = std::make_unique<StoreServer>(
        StoreServerOptions{.address = "127.0.0.1", .ports = {0}, .secret = secret});
    for (int rank = 0; rank < ranks; ++rank) {
      WatchedRank& made = ranks_.emplace_back();
      made.store = std::make_shared<StoreClient>(
          StoreClient::connect({.endpoints = {server_->endpoint()}, .secret = secret}, kPatience));
      watch(rank, ranks, deadline);
    }
  }

  void watch(int rank, int ranks, Duration deadline) {
    WatchedRank& made = ranks_[static_cast<size_t>(rank)];
    made.watcher = std::make_unique<Watcher>(
        WatcherOptions{.rank = rank,
                       .world_size = ranks,
                       .store = made.store,
                       .board = made.board.get(),
                       .deadline = deadline,
                       .on_end = [end = made.end.get()](const Error& error) { (*end)(error); }});
  }

  std::unique_ptr<StoreServer> server_;
  std::vector<WatchedRank> ranks_;
};

TEST_F(WatchedJob, ARankThatFallsSilentEndsAllOthersAndIsNamed) {
  begin(3);
  for (WatchedRank& rank : ranks_) rank.watcher->tell_step(40);
  {
    const ActivityBoard::Seat seat(*ranks_[2].board, kStepThread);
    const Activity doing("forward blocks.7");
    while (ranks_[0].store->get("watch/beat/2", kPatience).find("blocks.7") == std::string::npos)
      std::this_thread::sleep_for(5ms);
  }
  ranks_[2].watcher.reset();
  for (const size_t rank : {0, 1}) {
    const std::optional<Error> error = ranks_[rank].end->within(kPatience);
    ASSERT_TRUE(error) << "rank " << rank;
    EXPECT_EQ(error->exit_code(), ExitCode::kRequeue);
    EXPECT_THAT(error->what(),
                AllOf(HasSubstr("rank 2 does not answer for "), HasSubstr(", in step 41")));
  }
}

TEST_F(WatchedJob, OneThatBeatsIsLeftAloneAndSaysWhatItDoes) {
  begin(2);
  const ActivityBoard::Seat seat(*ranks_[1].board, kStepThread);
  const Activity doing("all_gather 'weights' on dp", Pace::kOthers);
  EXPECT_FALSE(ranks_[0].end->within(2 * kDeadline));
  EXPECT_FALSE(ranks_[1].end->within(1ms)) << "it waits for others, and is not stuck";
  EXPECT_THAT(what_they_do(*ranks_[0].store, {1}, kPatience),
              MatchesRegex("; rank 1 is on .+, before the first step, all_gather 'weights' on dp"));
}

TEST_F(WatchedJob, WhatIsSaidOfASilentRankIsThatItDoesNotAnswer) {
  begin(2, 3s);  // silent after 1.9 seconds, lost after 3
  ranks_[1].watcher.reset();
  const auto until = Clock::now() + kPatience;
  while (!ranks_[0].store->check({"watch/silent/1"}) && Clock::now() < until)
    std::this_thread::sleep_for(20ms);
  EXPECT_EQ(what_they_do(*ranks_[0].store, {1}, kPatience), "; rank 1 does not answer");
}

TEST_F(WatchedJob, AStuckThreadEndsItsRank) {
  begin(2);
  ranks_[1].watcher->tell_step(11);
  const ActivityBoard::Seat seat(*ranks_[1].board, kStepThread);
  const Activity doing("waits for the loader");
  const std::optional<Error> error = ranks_[1].end->within(kPatience);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit_code(), ExitCode::kStuck);
  EXPECT_THAT(error->what(), AllOf(HasSubstr("rank 1 on "), HasSubstr("no progress for "),
                                   HasSubstr("in step 12, waits for the loader")));
}

TEST_F(WatchedJob, OneThatWorksIsNotStuckHoweverLong) {
  begin(2);
  const ActivityBoard::Seat seat(*ranks_[1].board, kStepThread);
  const auto until = Clock::now() + 2 * kDeadline;
  while (Clock::now() < until) {
    const Activity doing("forward");
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_FALSE(ranks_[1].end->within(1ms));
}

TEST_F(WatchedJob, AloneItIsReportedAndLeftAlone) {
  begin(1);
  const ActivityBoard::Seat seat(*ranks_[0].board, kStepThread);
  const Activity doing("forward");
  EXPECT_FALSE(ranks_[0].end->within(2 * kDeadline));
}

TEST_F(WatchedJob, AStoreThatIsGoneEndsEveryRank) {
  begin(2);
  server_.reset();
  const std::optional<Error> error = ranks_[1].end->within(kPatience);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit_code(), ExitCode::kRequeue);
}

TEST(Silence, FollowsFromTheDeadline) {
  EXPECT_EQ(silence_of(10min), 30s);
  EXPECT_EQ(silence_of(30s), 5s);
  EXPECT_EQ(silence_of(2s), 2s);
  EXPECT_EQ(patience_of(10min), 9min);
}

}  // namespace
}  // namespace shoal::cluster

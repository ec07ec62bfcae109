#include "shoal/cluster/store_waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WaitingRoom : public ::testing::Test {
 protected:
  std::vector<StoreWaiting::Client> after_writing(const std::string& key) {
    table_.apply({StoreOp::kSet, {key}, {"value of " + key}});
    return clients_of(waiting_.written(key));
  }

  static std::vector<StoreWaiting::Client> clients_of(const StoreWaiting::Answers& answers) {
    std::vector<StoreWaiting::Client> clients;
    for (const auto& [client, answer] : answers) clients.push_back(client);
    return clients;
  }

  static StoreRequest get(const std::vector<std::string>& keys) {
    return {StoreOp::kGet, keys, {}};
  }

  const Clock::time_point now_ = Clock::now();
  StoreTable table_{{}};
  StoreWaiting waiting_{table_};
};

TEST_F(WaitingRoom, AnswersWhoeverGotTheLastKey) {
  waiting_.enter(7, get({"a", "b"}), now_ + seconds(10));
  waiting_.enter(8, get({"b"}), now_ + seconds(10));
  EXPECT_THAT(after_writing("c"), IsEmpty());
  EXPECT_THAT(after_writing("b"), ElementsAre(8));
  EXPECT_TRUE(waiting_.holds(7));
  const auto answers = [&] {
    table_.apply({StoreOp::kSet, {"a"}, {"1"}});
    return waiting_.written("a");
  }();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_THAT(answers[0].second.texts, ElementsAre("1", "value of b"));
  EXPECT_FALSE(waiting_.holds(7));
  EXPECT_EQ(waiting_.next_deadline(), std::nullopt);
}

TEST_F(WaitingRoom, AKeyThatWentAwayIsMissedAgain) {
  waiting_.enter(7, get({"a", "b"}), now_ + seconds(10));
  EXPECT_THAT(after_writing("a"), IsEmpty());
  table_.apply({StoreOp::kRemove, {"a"}, {}});
  EXPECT_THAT(after_writing("b"), IsEmpty());
  EXPECT_THAT(after_writing("a"), ElementsAre(7));
}

TEST_F(WaitingRoom, NamesTheEarliestDeadlineAndThoseWhoPassedIt) {
  waiting_.enter(7, get({"a"}), now_ + seconds(3));
  waiting_.enter(8, get({"a"}), now_ + seconds(1));
  waiting_.enter(9, get({"a"}), now_ + seconds(2));
  EXPECT_EQ(waiting_.next_deadline(), now_ + seconds(1));
  const auto late = waiting_.overdue(now_ + seconds(2));
  EXPECT_THAT(clients_of(late), ElementsAre(8, 9));
  EXPECT_EQ(late[0].second.status, StoreStatus::kTimeout);
  EXPECT_THAT(after_writing("a"), ElementsAre(7));
}

TEST_F(WaitingRoom, ForgetsWhoLeft) {
  waiting_.enter(7, get({"a"}), now_);
  waiting_.leave(7);
  waiting_.leave(7);
  EXPECT_THAT(waiting_.overdue(now_ + seconds(1)), IsEmpty());
  EXPECT_THAT(after_writing("a"), IsEmpty());
}

}  // namespace
}  // namespace shoal::cluster

#include "shoal/cluster/rounds.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/store_server.h"
#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using tests::error_text;

constexpr int kSeats = 4;

using Next = std::future<std::optional<Round>>;

class RoundsTest : public ::testing::Test {
 protected:
  RoundsTest() {
    for (int seat = 0; seat < kSeats; ++seat) seats_.push_back(process(seat, 1));
    for (const auto& seat : seats_) first_ = seat->first(kSeats);
  }

  // A process of a seat, with a connection of its own.
  std::unique_ptr<Rounds> process(int seat, int arrival) {
    auto store =
        std::make_shared<StoreClient>(StoreClient::connect({{server_.endpoint()}, secret_}, 10s));
    return std::make_unique<Rounds>(
        std::move(store),
        RoundsOptions{.seat = seat, .seats = kSeats, .arrival = arrival, .deadline = 20s});
  }

  // The round that a seat takes part in after it has left one.
  Next leaves(int seat, const Round& round, std::optional<int64_t> step) {
    return std::async(std::launch::async, [this, seat, round, step] {
      Rounds& rounds = *seats_[static_cast<size_t>(seat)];
      const std::optional<Round> next =
          rounds.next(round, step, [this](const Round& /*over*/, const RoundEnd& end) {
            end_ = end;
            return decision_;
          });
      return next && !next->has(seat) ? rounds.called_after(*next) : next;
    });
  }

  void is_killed(int seat) { seats_[static_cast<size_t>(seat)].reset(); }

  const Secret secret_ = Secret::random();
  StoreServer server_{{.address = "127.0.0.1", .ports = {0}, .secret = secret_}};
  std::vector<std::unique_ptr<Rounds>> seats_;
  Round first_;
  RoundEnd end_;  // what seat 0 was told last
  RoundDecision decision_;
};

TEST_F(RoundsTest, BeginWithAllSeats) {
  EXPECT_THAT(first_.seats, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(seats_[0]->waiting(first_), IsEmpty());
}

TEST_F(RoundsTest, ThoseWhoAreLeftAgree) {
  decision_ = {.seats = {0, 3}, .step = 41};
  is_killed(2);
  Next zero = leaves(0, first_, 41);
  Next one = leaves(1, first_, std::nullopt);  // is not needed, and waits
  Next three = leaves(3, first_, 42);
  for (Next* each : {&zero, &three}) {
    const std::optional<Round> next = each->get();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->number, 1);
    EXPECT_EQ(next->step, 41);
    EXPECT_THAT(next->seats, ElementsAre(0, 3));
  }
  ASSERT_EQ(end_.reports.size(), 3U);
  EXPECT_THAT(end_.reports[0].step, Optional(41));
  EXPECT_THAT(end_.reports[1].step, Eq(std::nullopt));
  EXPECT_THAT(end_.reports[2].step, Optional(42));

  const Round second{.number = 1, .seats = {0, 3}, .step = 41};
  EXPECT_TRUE(seats_[0]->somebody_came(second)) << "it has not been asked in this round";
  while (seats_[0]->somebody_came(second) || seats_[0]->waiting(second).empty())
    std::this_thread::yield();
  EXPECT_THAT(seats_[0]->waiting(second), ElementsAre(1));
  decision_ = {.seats = {0, 1, 3}, .step = 50};
  Next zero_again = leaves(0, second, 50);
  Next three_again = leaves(3, second, 50);
  EXPECT_EQ(zero_again.get()->number, 2);
  EXPECT_EQ(three_again.get()->number, 2);
  EXPECT_EQ(one.get()->number, 2);
  EXPECT_THAT(end_.waiting, ElementsAre(1));
}

TEST_F(RoundsTest, ASuccessorIsCalledAndOneThatIsGoneIsNot) {
  decision_ = {.seats = {0, 1}, .step = 7};
  is_killed(2);
  is_killed(3);
  // They come back before the others have noticed.
  seats_[2] = process(2, 2);
  seats_[3] = process(3, 2);
  Next two = std::async(std::launch::async, [&] { return seats_[2]->called(); });
  Next three = std::async(std::launch::async, [&] { return seats_[3]->called(); });
  Next zero = leaves(0, first_, 7);
  Next one = leaves(1, first_, 7);
  const Round second = *zero.get();
  one.get();
  EXPECT_EQ(end_.reports.size(), 2U) << "those of the processes before are not waited for";
  while (seats_[0]->waiting(second).size() < 2) std::this_thread::yield();
  seats_[0]->end(second);  // and the job is over before they are called
  EXPECT_FALSE(two.get());
  EXPECT_FALSE(three.get());
}

TEST_F(RoundsTest, ASeatThatWasGivenUpComesBack) {
  decision_ = {.seats = {0, 1, 2}, .step = 41};
  seats_[0]->give_up(first_, 3);  // lives, and says nothing
  Next zero = leaves(0, first_, 41);
  Next one = leaves(1, first_, 41);
  Next two = leaves(2, first_, 41);
  const Round second = *zero.get();
  EXPECT_TRUE(one.get() && two.get());
  EXPECT_EQ(end_.reports.size(), 3U);
  Next three = leaves(3, first_, 41);  // it has noticed now
  while (seats_[0]->waiting(second).empty()) std::this_thread::yield();
  decision_ = {.seats = {0, 1, 2, 3}, .step = 50};
  zero = leaves(0, second, 50);
  one = leaves(1, second, 50);
  two = leaves(2, second, 50);
  EXPECT_THAT(three.get()->seats, ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(zero.get() && one.get() && two.get());
}

TEST_F(RoundsTest, AWaitingProcessThatIsGoneIsNotCalled) {
  const Round second{.number = 1, .seats = {0, 1}, .step = 7};
  {
    StoreClient gone = StoreClient::connect({{server_.endpoint()}, secret_}, 10s);
    gone.leave_will("rounds/gone/3/2", "");
    gone.set("rounds/waiting/3", "2");
  }
  StoreClient store = StoreClient::connect({{server_.endpoint()}, secret_}, 10s);
  store.wait({"rounds/gone/3/2"}, 10s);
  EXPECT_THAT(seats_[0]->waiting(second), IsEmpty());
}

TEST_F(RoundsTest, AllKnowWhoGivesToWhom) {
  decision_ = {.seats = {0, 3}, .step = 42, .transfers = {{.from = 2, .to = 0}}};
  is_killed(1);
  std::vector<Next> all;
  for (const int seat : {0, 2, 3}) {
    all.push_back(std::async(std::launch::async, [this, seat] {
      return seats_[static_cast<size_t>(seat)]->next(
          first_, seat == 0 ? 41 : 42,
          [this](const Round& /*over*/, const RoundEnd& /*end*/) { return decision_; });
    }));
  }
  for (Next& each : all) {
    const std::optional<Round> next = each.get();
    ASSERT_TRUE(next);
    EXPECT_THAT(next->seats, ElementsAre(0, 3));
    EXPECT_EQ(next->step, 42);
    ASSERT_EQ(next->transfers.size(), 1U);
    EXPECT_EQ(next->transfers[0].from, 2);
    EXPECT_EQ(next->transfers[0].to, 0);
  }
}

TEST_F(RoundsTest, EndForAllWhenTheJobCannotGoOn) {
  decision_ = {.why = "nothing is left"};
  is_killed(1);
  is_killed(2);
  Next zero = leaves(0, first_, 41);
  Next three = leaves(3, first_, 41);
  EXPECT_THAT(error_text<PeerLost>([&] { zero.get(); }), HasSubstr("nothing is left"));
  EXPECT_THAT(error_text<PeerLost>([&] { three.get(); }), HasSubstr("nothing is left"));
}

TEST_F(RoundsTest, WhatIsNoRoundIsRefused) {
  StoreClient store = StoreClient::connect({{server_.endpoint()}, secret_}, 10s);
  for (const char* const text : {"", "41 0 4", "41 0 x", "41 0  1", "-1 0", "41 0 -1", "41 0 2>4",
                                 "41 0 2>", "41 0 >2", "41 0 1>2>3", "41 2>0 1", "41>0 1"}) {
    store.set("rounds/0/next", text);
    EXPECT_THAT(error_text<PeerLost>([&] { (void)seats_[1]->next(first_, 41, nullptr); }),
                HasSubstr("is not understood"))
        << text;
  }
}

}  // namespace
}  // namespace shoal::cluster

#include "shoal/cluster/rendezvous.h"

#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using tests::error_text;

Membership member(int rank, int world_size) {
  Membership me;
  me.launcher = "test";
  me.job = "rendezvous_test";
  me.rank = rank;
  me.world_size = world_size;
  me.local_rank = rank;
  me.local_size = world_size;
  me.store_host = "127.0.0.1";
  return me;
}

class RendezvousTest : public ::testing::Test {
 protected:
  tests::TempDir dir_;
  Environment environment_{std::map<std::string, std::string>{{"HOME", dir_.path().string()}}};
};

TEST_F(RendezvousTest, RanksMeetWithoutBeingToldAPort) {
  constexpr int kRanks = 5;
  std::vector<std::thread> ranks;
  ranks.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      Rendezvous meeting = meet(member(rank, kRanks), environment_, {.patience = 20s});
      EXPECT_EQ(meeting.address(), "127.0.0.1");
      if (meeting.store()->add("met", 1) == kRanks) meeting.store()->set("all met", "");
      meeting.store()->wait({"all met"}, 10s);
      meeting.leave(10s);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST_F(RendezvousTest, ALoneRankNeedsNobody) {
  Rendezvous meeting = meet(member(0, 1), Environment(), {});
  meeting.store()->set("k", "v");
  EXPECT_EQ(meeting.store()->get("k", 1s), "v");
  meeting.leave(1s);
}

TEST_F(RendezvousTest, NamesTheRanksThatDidNotArrive) {
  std::thread one(
      [&] { EXPECT_THROW(meet(member(1, 4), environment_, {.patience = 3s}), PeerLost); });
  EXPECT_THAT(error_text<PeerLost>([&] { meet(member(0, 4), environment_, {.patience = 3s}); }),
              HasSubstr("ranks 2, 3 of 4 did not arrive at rank 0's store at 127.0.0.1:"));
  one.join();
}

TEST_F(RendezvousTest, SaysWhereItLookedForRankZero) {
  EXPECT_THAT(error_text<PeerLost>([&] { meet(member(1, 2), environment_, {.patience = 50ms}); }),
              HasSubstr("no connection to the store of rank 0 within"));
}

TEST_F(RendezvousTest, TwoJobsWithOneNameAreNoticed) {
  std::thread zero(
      [&] { EXPECT_THROW(meet(member(0, 3), environment_, {.patience = 3s}), PeerLost); });
  std::thread first([&] { EXPECT_ANY_THROW(meet(member(1, 3), environment_, {.patience = 3s})); });
  std::thread second([&] { EXPECT_ANY_THROW(meet(member(1, 3), environment_, {.patience = 3s})); });
  zero.join();
  first.join();
  second.join();
}

// Rank 1 was killed and is back before rank 0 has noticed: it must not join what it left.
TEST_F(RendezvousTest, ARankThatWasStartedAgainWaitsForTheNextStore) {
  Membership again = member(1, 2);
  again.restarts = 1;
  std::string first;
  std::thread predecessor([&] { meet(member(1, 2), environment_, {.patience = 20s}); });
  std::optional<Rendezvous> old(meet(member(0, 2), environment_, {.patience = 20s}));
  predecessor.join();
  old->store()->set("generation", "old");
  std::thread successor([&] {
    Rendezvous meeting = meet(again, environment_, {.patience = 20s});
    first = meeting.store()->get("generation", 20s);
  });
  old->store()->wait({"rendezvous/arrivals/1"}, 20s);
  while (old->store()->add("rendezvous/arrivals/1", 0) < 2) std::this_thread::yield();
  old.reset();
  Rendezvous next = meet(member(0, 2), environment_, {.patience = 20s});
  next.store()->set("generation", "next");
  successor.join();
  EXPECT_EQ(first, "next");
}

// The launcher of rank 0's host starts it again when its calls have missed a peer, which takes longer than
// ranks are waited for that start together.
TEST_F(RendezvousTest, ARankThatWasStartedAgainWaitsForTheLauncherOfAnotherHost) {
  const auto of_two_hosts = [](int rank) {
    Membership me = member(rank, 2);
    me.restarts = 1;
    me.num_nodes = 2;
    me.node = rank;
    return me;
  };
  const Environment environment(std::map<std::string, std::string>{{"HOME", dir_.path().string()},
                                                                   {"SHOAL_RESTART_COUNT", "1"}});
  const RendezvousOptions options{.patience = 50ms, .deadline = 1s};
  std::thread early([&] { EXPECT_NO_THROW(meet(of_two_hosts(1), environment, options)); });
  std::this_thread::sleep_for(500ms);  // ten times as long as it would wait
  std::optional<Rendezvous> zero;      // its store is there until the other has met it
  EXPECT_NO_THROW(zero.emplace(meet(of_two_hosts(0), environment, options)));
  early.join();
}

TEST(StorePlace, FollowsFromTheJobAlone) {
  const Secret secret = Secret::from_hex(std::string(64, '7'));
  const StorePlace place = store_place(member(0, 4), secret, std::nullopt);
  EXPECT_EQ(place.ports, store_place(member(3, 4), secret, std::nullopt).ports);
  EXPECT_EQ(place.ports.size(), 8U);
  for (const int port : place.ports) {
    EXPECT_GE(port, 20000);
    EXPECT_LT(port, 32768);
  }
  Membership told = member(0, 4);
  told.store_port = 29500;
  EXPECT_EQ(store_place(told, secret, std::nullopt).ports.front(), 29500);
}

TEST(StorePlace, RefusesAHostNobodyCanReach) {
  const Secret secret = Secret::random();
  Membership me = member(2, 4);
  me.num_nodes = 2;
  me.node = 1;
  me.store_host = "no-such-host.invalid";
  EXPECT_THAT(error_text<UsageError>([&] { store_place(me, secret, std::nullopt); }),
              HasSubstr("'no-such-host.invalid', does not resolve"));
  me.store_host = "";
  EXPECT_THAT(error_text<UsageError>([&] { store_place(me, secret, std::nullopt); }),
              HasSubstr("export MASTER_ADDR"));
  me.node = 0;
  me.store_host = "203.0.113.7";
  EXPECT_THAT(error_text<UsageError>([&] { store_place(me, secret, std::nullopt); }),
              HasSubstr("'203.0.113.7' is not an address of it"));
}

}  // namespace
}  // namespace shoal::cluster

#include "shoal/comm/roll_call.h"

#include <gtest/gtest.h>

#include "shoal/cluster/secret.h"
#include "shoal/cluster/store_server.h"

namespace shoal::comm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// Three ranks in two groups, each with a roll call of its own.
class RollCallTest : public ::testing::Test {
 protected:
  struct Rank {
    std::shared_ptr<RollCall> roll_call;
    std::shared_ptr<std::atomic<uint64_t>> all = std::make_shared<std::atomic<uint64_t>>(0);
    std::shared_ptr<std::atomic<uint64_t>> pair = std::make_shared<std::atomic<uint64_t>>(0);
  };

  static GroupSpec everybody(int rank) { return {.name = "all", .ranks = {0, 1, 2}, .rank = rank}; }

  Rank make_rank(int rank) {
    Rank made;
    made.roll_call = make_roll_call(std::make_shared<cluster::StoreClient>(
        cluster::StoreClient::connect({{server_.endpoint()}, secret_}, 5s)));
    made.roll_call->enroll(everybody(rank), made.all);
    if (rank < 2)
      made.roll_call->enroll({.name = "pair", .ranks = {0, 1}, .rank = rank}, made.pair);
    return made;
  }

  // What rank 0 says of the call with so many collectives before it.
  std::string missing(Rank& rank0, uint64_t sequence) {
    rank0.roll_call->sign();
    return rank0.roll_call->missing(everybody(0), {.op = Op::kAllReduce, .sequence = sequence});
  }

  cluster::Secret secret_ = cluster::Secret::random();
  cluster::StoreServer server_{{.address = "127.0.0.1", .ports = {0}, .secret = secret_}};
  Rank rank0_ = make_rank(0);
  Rank rank1_ = make_rank(1);
  Rank rank2_ = make_rank(2);
};

TEST_F(RollCallTest, NamesWhoHasNotSigned) {
  *rank0_.all = *rank1_.all = 8;
  rank1_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 2 did not arrive");
}

// A collective may end on rank 1 just before rank 2 is lost.
TEST_F(RollCallTest, DoesNotNameWhoHasPassedTheCall) {
  *rank0_.all = 8;
  *rank1_.all = 9;
  rank1_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 2 did not arrive");
}

// Rank 1 waits in the call of another group, behind this one.
TEST_F(RollCallTest, ARankThatWaitsElsewhereIsHere) {
  *rank0_.all = *rank1_.all = 8;
  *rank1_.pair = 3;
  rank1_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 2 did not arrive");
}

// The call before ended on rank 0 and not on rank 1, which waits there for rank 2.
TEST_F(RollCallTest, DoesNotNameWhoWaitsInAnEarlierCall) {
  *rank0_.all = 8;
  *rank1_.all = 7;
  rank1_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 2 did not arrive");
}

TEST_F(RollCallTest, NamesWhoIsBehindWhenAllWait) {
  *rank0_.all = *rank2_.all = 8;
  *rank1_.all = 7;
  rank1_.roll_call->sign();
  rank2_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 1 did not arrive");
}

// What is in the store was written by another process: it may be anything.
TEST_F(RollCallTest, ASignatureThatIsNoNumberIsNoSignature) {
  *rank0_.all = *rank1_.all = *rank2_.all = 8;
  for (Rank* rank : {&rank0_, &rank1_, &rank2_}) rank->roll_call->sign();
  auto other = cluster::StoreClient::connect({{server_.endpoint()}, secret_}, 5s);
  for (const std::string text : {"", "eight", "8 ", "-1", "99999999999999999999999"}) {
    const std::string key = "late/rank/all/0/0/1";
    ASSERT_TRUE(other.check({key}));
    other.set(key, text);
    other.remove("late/asked/all/0/0");  // by the one before
    other.remove("late/answer/all/0/0");
    EXPECT_EQ(make_rank(0).roll_call->missing(everybody(0), {.op = Op::kAllReduce, .sequence = 7}),
              "rank 1 did not arrive")
        << text;
  }
}

// Every rank's question would name all ranks: what the first has found is told by all.
TEST_F(RollCallTest, OneAsksForAll) {
  *rank0_.all = *rank1_.all = *rank2_.all = 8;
  rank1_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 2 did not arrive");
  rank2_.roll_call->sign();
  EXPECT_EQ(missing(rank1_, 7), "rank 2 did not arrive") << "it is asked again";
}

TEST_F(RollCallTest, AsksItselfWhenTheFirstIsGone) {
  *rank0_.all = *rank1_.all = 8;
  auto other = cluster::StoreClient::connect({{server_.endpoint()}, secret_}, 5s);
  other.add("late/asked/all/0/0", 1);
  rank1_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7), "rank 2 did not arrive");
}

// A call that was slow and ended leaves nothing behind: its rank may be lost later.
TEST_F(RollCallTest, NamesWhoHasSignedAndLeft) {
  *rank0_.all = *rank1_.all = *rank2_.all = 8;
  rank1_.roll_call->sign();
  rank2_.roll_call->sign();
  rank2_.roll_call->sign();
  rank2_.roll_call->leave();
  rank1_.roll_call->leave();
  EXPECT_EQ(missing(rank0_, 7), "rank 1 did not arrive");
}

TEST_F(RollCallTest, SaysThatNobodyIsMissing) {
  *rank0_.all = *rank1_.all = *rank2_.all = 8;
  rank1_.roll_call->sign();
  rank2_.roll_call->sign();
  EXPECT_EQ(missing(rank0_, 7),
            "every rank arrived, so the network between them is slow or broken");
}

}  // namespace
}  // namespace shoal::comm

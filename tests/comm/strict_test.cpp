// The strict transport refuses what gloo tolerates: each case passes with gloo, as the first
// parameter shows.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/run_ranks.h"

namespace shoal::comm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using config::Backend;
using ::testing::HasSubstr;
using tests::error_text;

// One rank of two, in a group with the other. It does not leave the world: after a failed call no
// rank waits.
struct Pair {
  std::unique_ptr<World> world;
  Group group;
  bool strict;
  int rank;
  int other;
};

void on_two_ranks(Backend backend, const std::function<void(Pair&)>& body) {
  tests::run_ranks(2, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    auto world = World::join(me, environment, {.backend = backend, .deadline = 6s});
    Group group = world->group("pp", {0, 1});
    Pair pair{std::move(world), std::move(group), backend == Backend::kStrict, me.rank,
              1 - me.rank};
    body(pair);
  });
}

class Rules : public ::testing::TestWithParam<Backend> {};

TEST_P(Rules, SendsThatCrossWaitForEachOther) {
  on_two_ranks(GetParam(), [](Pair& pair) {
    const at::Tensor mine = at::full({7}, static_cast<double>(pair.rank));
    const at::Tensor theirs = at::zeros({7});
    Pending send = pair.group.send(mine, pair.other, 1, "there");
    Pending receive = pair.group.recv(theirs, pair.other, 1, "back");
    if (pair.strict) {
      EXPECT_THAT(error_text<PeerLost>([&] { send.wait(); }), HasSubstr("in send 'there' to rank"));
      (void)error_text<PeerLost>([&] { receive.wait(); });
      return;
    }
    send.wait();
    receive.wait();
    EXPECT_TRUE(theirs.equal(at::full({7}, static_cast<double>(pair.other))));
    pair.world->control().barrier("done");
  });
}

TEST_P(Rules, AnExchangeMovesBothWaysAtOnce) {
  on_two_ranks(GetParam(), [](Pair& pair) {
    using Way = Group::Transfer::Way;
    const at::Tensor mine = at::full({7}, static_cast<double>(pair.rank));
    const at::Tensor theirs = at::zeros({7});
    pair.group
        .exchange({{Way::kSend, mine, pair.other, 1}, {Way::kRecv, theirs, pair.other, 1}}, "both")
        .wait();
    EXPECT_TRUE(theirs.equal(at::full({7}, static_cast<double>(pair.other))));
    pair.world->control().barrier("done");
  });
}

TEST_P(Rules, MessagesArriveInTheirOrderWhateverTheirTags) {
  on_two_ranks(GetParam(), [](Pair& pair) {
    std::vector<Pending> calls;
    const at::Tensor first = at::full({7}, 1.0);
    const at::Tensor second = at::full({7}, 2.0);
    if (pair.rank == 0) {
      calls.push_back(pair.group.send(first, 1, 1, "first"));
      calls.push_back(pair.group.send(second, 1, 2, "second"));
    } else {
      calls.push_back(pair.group.recv(second, 0, 2, "second"));
      calls.push_back(pair.group.recv(first, 0, 1, "first"));
    }
    if (pair.strict && pair.rank == 1) {
      EXPECT_THAT(error_text<BugError>([&] { calls[0].wait(); }),
                  HasSubstr("rank 1 expects a send of 28 bytes of Float (2) from rank 0 and meets "
                            "a send of 28 bytes of Float (1)"));
      (void)error_text<PeerLost>([&] { calls[1].wait(); });
    } else if (pair.strict) {
      (void)error_text<PeerLost>([&] { calls[0].wait(); });
      (void)error_text<PeerLost>([&] { calls[1].wait(); });
    } else {
      for (Pending& call : calls) call.wait();
      EXPECT_TRUE(first.equal(at::full({7}, 1.0)));
      pair.world->control().barrier("done");
    }
  });
}

TEST_P(Rules, WhatIsOnItsWayIsNotThereYet) {
  on_two_ranks(GetParam(), [](Pair& pair) {
    const at::Tensor sum = at::ones({13});
    Pending call = pair.group.all_reduce(sum, Reduce::kSum, "sum");
    if (pair.strict) {
      EXPECT_TRUE(sum.isnan().all().item<bool>());
    }
    call.wait();
    EXPECT_TRUE(sum.equal(at::full({13}, 2.0)));
    // The shard lies inside the gathered tensor.
    const at::Tensor whole = at::full({2, 3}, -1.0);
    const at::Tensor shard = whole[pair.rank];
    shard.fill_(pair.rank);
    Pending gather = pair.group.all_gather(whole, shard, "gather");
    EXPECT_TRUE(shard.eq(pair.rank).all().item<bool>());
    if (pair.strict) {
      EXPECT_TRUE(whole[pair.other].isnan().all().item<bool>());
    }
    gather.wait();
    EXPECT_TRUE(whole.equal(at::tensor({0, 0, 0, 1, 1, 1}, at::kFloat).view({2, 3})));
    pair.world->control().barrier("done");
  });
}

TEST_P(Rules, NobodyWritesToWhatIsOnItsWay) {
  on_two_ranks(GetParam(), [](Pair& pair) {
    const at::Tensor all = at::zeros({2 * 5});
    const at::Tensor mine = at::ones({5});
    Pending call = pair.group.all_gather(all, mine, "gather");
    mine[3] = 7;
    if (pair.strict) {
      EXPECT_THAT(error_text<BugError>([&] { call.wait(); }),
                  HasSubstr("5 elements were written while they were on the way to other ranks"));
    } else {
      call.wait();
    }
  });
}

TEST_P(Rules, NobodyWritesWhereSomethingArrives) {
  on_two_ranks(GetParam(), [](Pair& pair) {
    const at::Tensor sum = at::ones({5});
    Pending call = pair.group.all_reduce(sum, Reduce::kSum, "sum");
    sum[4] = 1;
    if (pair.strict) {
      EXPECT_THAT(
          error_text<BugError>([&] { call.wait(); }),
          HasSubstr("5 elements were written while their values were on the way from other ranks"));
    } else {
      call.wait();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         Rules,
                         ::testing::Values(Backend::kGloo, Backend::kStrict),
                         [](const auto& backend) {
                           return backend.param == Backend::kGloo ? "gloo" : "strict";
                         });

TEST(Strict, MembersMakeTheSameCollective) {
  on_two_ranks(Backend::kStrict, [](Pair& pair) {
    const at::Tensor sum = at::ones({5});
    const at::Tensor shard = at::ones({5});
    Pending call = pair.rank == 0
                       ? pair.group.all_reduce(sum, Reduce::kSum, "sum")
                       : pair.group.reduce_scatter(shard, at::ones({10}), Reduce::kSum, "shards");
    EXPECT_THAT(
        error_text<BugError>([&] { call.wait(); }),
        HasSubstr(pair.rank == 0 ? "rank 0 makes a all_reduce of 20 bytes of Float (0) where "
                                   "rank 1 makes a reduce_scatter of 60 bytes"
                                 : "rank 1 makes a reduce_scatter of 60 bytes"));
  });
}

}  // namespace
}  // namespace shoal::comm

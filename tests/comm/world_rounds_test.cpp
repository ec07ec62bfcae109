// Groups are left while calls wait in them, and ranks go on in the next round.

#include <csignal>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <unistd.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/process_stat.h"

#include "tests/support/error_text.h"
#include "tests/support/run_ranks.h"

namespace shoal::comm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using tests::run_ranks;

constexpr Duration kDeadline = 24h;  // a test that waits for it is stopped by ctest

std::unique_ptr<World> join(const cluster::Membership& me,
                            const cluster::Environment& environment,
                            ActivityBoard* board = nullptr) {
  return World::join(me, environment,
                     {.backend = config::Backend::kGloo,
                      .deadline = kDeadline,
                      .rendezvous = 30s,
                      .board = board,
                      .rounds = true});
}

// A peer that is suspended has asked for more than its socket takes: the message is half sent and half received, and Gloo
// tells neither end that the connection is lost.
TEST(BreakingOff, EndsAMessageThatIsHalfSent) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join(me, environment);
    std::optional<Group> group = world->group("all", {0, 1});
    const at::Tensor pids = at::zeros({2}, at::kLong);
    pids[me.rank] = ::getpid();
    group->all_reduce(pids, Reduce::kSum, "processes").wait();
    const at::Tensor large = at::zeros({16 << 20});
    Pending transfer =
        me.rank == 0 ? group->send(large, 1, 0, "more than fits") : group->recv(large, 0, 0, "it");
    if (me.rank == 1) ::raise(SIGSTOP);
    // It must be stopped before it is told to go on.
    const auto peer = static_cast<pid_t>(pids[1].item<int64_t>());
    while (me.rank == 0 && process_stat(std::to_string(peer)).value().state != 'T')
      std::this_thread::sleep_for(1ms);
    std::thread breaks([&] {
      std::this_thread::sleep_for(500ms);  // the socket fills, and nobody says so
      world->break_off();
    });
    EXPECT_THAT(error_text<PeerLost>([&] { transfer.wait(); }), HasSubstr("a peer is gone"));
    breaks.join();
    if (me.rank == 0) ::kill(peer, SIGCONT);
  });
}

TEST(NextRound, ARankThatIsLeftOutGivesItsState) {
  run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join(me, environment);
    const at::Tensor state = at::full({7}, me.rank);
    int transfers = 0;
    const bool goes_on = world->next_round(
        me.rank == 0 ? 41 : 42,
        [](const cluster::Round& /*over*/, const cluster::RoundEnd& end) {
          EXPECT_EQ(end.reports.size(), 3U);
          return cluster::RoundDecision{
              .seats = {0, 1}, .step = 42, .transfers = {{.from = 2, .to = 0}}};
        },
        [&](Group pair, int source) {
          ++transfers;
          EXPECT_EQ(pair.size(), 2);
          EXPECT_EQ(source, 1);
          pair.broadcast(state, source, "state").wait();
        });
    EXPECT_EQ(transfers, me.rank == 1 ? 0 : 1);
    EXPECT_EQ(goes_on, me.rank != 2);
    if (!goes_on) return;  // the job is over, and it was not called
    EXPECT_EQ(world->size(), 2);
    EXPECT_EQ(world->round().step, 42);
    EXPECT_EQ(state[0].item<float>(), me.rank == 0 ? 2 : 1);
    const at::Tensor sum = at::ones({1});
    world->group("both", {0, 1}).all_reduce(sum, Reduce::kSum, "both are here").wait();
    EXPECT_EQ(sum.item<float>(), 2);
    world->leave();
  });
}

// Half of the state has been received, and Gloo does not say that the rest will not come.
TEST(NextRound, AGiverThatIsLostInTheMiddleEndsTheTransfer) {
  run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
    ActivityBoard board;
    const auto world = join(me, environment, &board);
    const at::Tensor state = at::zeros({16 << 20});
    EXPECT_THROW((void)world->next_round(
                     me.rank == 0 ? 41 : 42,
                     [](const cluster::Round& /*over*/, const cluster::RoundEnd& /*end*/) {
                       return cluster::RoundDecision{
                           .seats = {0, 1}, .step = 42, .transfers = {{.from = 2, .to = 0}}};
                     },
                     [&](Group pair, int source) {
                       if (me.rank != 2) return pair.broadcast(state, source, "state").wait();
                       Pending sends = pair.broadcast(state, source, "state");
                       std::this_thread::sleep_for(1ms);  // some of it is on its way
                       std::_Exit(0);
                     }),
                 PeerLost);
  });
}

}  // namespace
}  // namespace shoal::comm

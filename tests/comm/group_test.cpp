// The guarantees of a group beyond right results: rules, deadlines, error causes, memory.

#include <csignal>
#include <functional>
#include <numeric>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/cluster/address.h"
#include "shoal/cluster/socket.h"
#include "shoal/cluster/store_client.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"

#include "tests/comm/everyone.h"
#include "tests/support/error_text.h"
#include "tests/support/run_ranks.h"

namespace shoal::comm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using config::Backend;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using tests::error_text;
using tests::run_ranks;

std::unique_ptr<World> join_gloo(const cluster::Membership& me,
                                 const cluster::Environment& environment,
                                 Duration deadline = 30s) {
  return World::join(me, environment,
                     {.backend = Backend::kGloo, .deadline = deadline, .rendezvous = 30s});
}

class CallRules : public ::testing::Test {
 protected:
  std::unique_ptr<World> world_ =
      World::join(cluster::Membership{}, cluster::Environment(), {.backend = Backend::kLocal});
  Group group_ = world_->group("alone", {0});
};

// Keeps what it hears of calls.
class CallEars final : public CallListener {
 public:
  void on_call(const Call& call) override { called.push_back(call); }
  void before_wait(const Call& call) override { waited.push_back(call); }
  void after_wait(const Call& call, Moment end) override {
    EXPECT_EQ(call.number, waited.back().number);
    ended = end.read(DeviceClock(c10::Device(c10::kCPU)));
  }

  std::vector<Call> called;
  std::vector<Call> waited;
  Clock::time_point ended;
};

// What overlapped has ended before it is waited for, and is told so.
TEST(Listening, TellsWhenCallsEnded) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment);
    Group group = world->group("all", everyone(*world));
    group.barrier("nobody listens").wait();
    CallEars ears;
    world->listen(&ears);
    const std::vector<std::function<Pending()>> calls = {
        [&] { return group.all_gather(at::empty({14}), at::ones({7}), "gather"); },
        [&] { return group.all_reduce(at::ones({7}), Reduce::kSum, "sum"); }};
    for (const auto& call : calls) {
      const Clock::time_point began = Clock::now();
      Pending pending = call();
      while (!pending.done()) std::this_thread::yield();
      const Clock::time_point done = Clock::now();
      pending.wait();
      EXPECT_GE(ears.ended, began) << ears.waited.back().what;
      EXPECT_LE(ears.ended, done) << ears.waited.back().what;
    }
    world->control().barrier("not theirs to hear");
    world->listen(nullptr);
    group.barrier("nobody listens").wait();
    ASSERT_EQ(ears.called.size(), 2U);
    ASSERT_EQ(ears.waited.size(), 2U);
    EXPECT_EQ(ears.waited[0].number, 1U);
    EXPECT_EQ(ears.waited[1].number, 2U);
  });
}

TEST_F(CallRules, AreNamedWhenBroken) {
  const auto broken = [](auto call) { return error_text<BugError>([&] { call().wait(); }); };
  EXPECT_THAT(broken([&] {
                return group_.all_reduce(at::ones({4, 4}).t().slice(0, 0, 3), Reduce::kSum, "x");
              }),
              HasSubstr("'x' was given a tensor that is not contiguous"));
  EXPECT_THAT(broken([&] { return group_.all_reduce(at::Tensor(), Reduce::kSum, "x"); }),
              HasSubstr("undefined tensor"));
  EXPECT_THAT(broken([&] { return group_.all_reduce(at::ones({2}, at::kInt), Reduce::kSum, "x"); }),
              HasSubstr("'x' was given Int"));
  EXPECT_THAT(
      broken([&] { return group_.all_reduce(at::ones({2}, at::kLong), Reduce::kAvg, "x"); }),
      HasSubstr("'x' would average Long"));
  EXPECT_THAT(
      broken([&] { return group_.all_reduce(at::ones({2}, at::kByte), Reduce::kSum, "x"); }),
      HasSubstr("reduce uint8"));
  EXPECT_THAT(broken([&] { return group_.broadcast(at::ones({2}), 1, "x"); }),
              HasSubstr("'x' names member 1 of a group of 1"));
  EXPECT_THAT(broken([&] { return group_.all_gather(at::ones({3}), at::ones({2}), "x"); }),
              HasSubstr("3 elements are not 1 parts of 2"));
  EXPECT_THAT(
      broken([&] { return group_.all_gather(at::ones({2}), at::ones({2}, at::kDouble), "x"); }),
      HasSubstr("'x' mixes Float and Double"));
  EXPECT_THAT(broken([&] {
                return group_.all_to_all(at::ones({2}), at::ones({2}), {{1}, {2}}, "x");
              }),
              HasSubstr("counts with the sum 1"));
  EXPECT_THAT(
      broken([&] { return group_.all_to_all(at::ones({2}), at::ones({2}, at::kLong), {}, "x"); }),
      HasSubstr("'x' mixes Float and Long"));
  EXPECT_THAT(broken([&] { return group_.send(at::ones({2}), 0, 0, "x"); }),
              HasSubstr("would send to itself"));
  EXPECT_THROW((void)world_->group("others", {1}), BugError);
}

TEST_F(CallRules, AGroupOfOneCompletesAtOnce) {
  Pending pending = group_.all_reduce(at::ones({2}), Reduce::kSum, "alone");
  EXPECT_TRUE(pending.done());
  pending.wait();
  at::Tensor out = at::zeros({3});
  group_.all_gather(out, at::ones({3}), "alone").wait();
  EXPECT_TRUE(out.eq(1).all().item<bool>());
}

TEST(World, RefusesLocalWithSeveralRanks) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    EXPECT_THAT(
        error_text<UsageError>([&] { World::join(me, environment, {.backend = Backend::kLocal}); }),
        HasSubstr("comm.backend is local, but 2 ranks were launched"));
    EXPECT_THAT(
        error_text<UsageError>([&] { World::join(me, environment, {.backend = Backend::kNccl}); }),
        HasSubstr("no NCCL"));
  });
}

#ifdef SHOAL_DEV_CHECKS
TEST(Pending, DroppedUnwaitedEndsTheProcess) {
  run_ranks(2,
            [](const cluster::Membership& me, const cluster::Environment& environment) {
              const auto world = join_gloo(me, environment);
              Group group = world->group("all", everyone(*world));
              const Pending dropped = group.all_reduce(at::ones({5}), Reduce::kSum, "forgotten");
            },
            {.expected_exit_code = kSignalExitBase + SIGABRT, .expected_cause = "SIGABRT"});
}
#else
TEST(Pending, DroppedUnwaitedIsReported) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment);
    Group group = world->group("all", everyone(*world));
    at::Tensor x = at::ones({5});
    ::testing::internal::CaptureStderr();
    { const Pending dropped = group.all_reduce(x, Reduce::kSum, "forgotten"); }
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("all_reduce 'forgotten' on all (2 ranks) was dropped"));
    ::testing::internal::CaptureStderr();
    Pending pending = group.barrier("overwritten");
    pending = group.barrier("the next");
    pending.wait();
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("barrier 'overwritten' on all (2 ranks) was dropped"));
    group.barrier("after").wait();
    EXPECT_TRUE(x.eq(2).all().item<bool>())
        << "its tensors stayed alive until the backend was done with them";
  });
}
#endif

// Returns the job's store, where ranks can still synchronize when no group works any more.
cluster::StoreClient store_of(const World& world, const cluster::Environment& environment) {
  const std::string text = world.store_endpoint();
  const size_t colon = text.rfind(':');
  return cluster::StoreClient::connect(
      {{{text.substr(0, colon), std::stoi(text.substr(colon + 1))}},
       cluster::job_secret(environment, world.membership().job)},
      10s);
}

// Rank 1 stays until the others are done, and rank 0, which has the store, until rank 1 knows it.
void wait_until_told(cluster::StoreClient& store) {
  for (const int peer : {0, 2}) (void)store.get(format("done/{}", peer), 60s);
  store.set("done/1", "heard");
}

void tell_rank_1(cluster::StoreClient& store, int rank) {
  store.set(format("done/{}", rank), "yes");
  if (rank == 0) (void)store.get("done/1", 60s);
}

// Ranks 0 and 2 call a collective that rank 1 never joins; `expect` checks their error texts. Rank
// 1 stays until they have them.
void without_rank_1(
    Duration deadline,
    const std::function<void(Group& group, const std::string& text)>& expect,
    const std::function<void(const cluster::Membership& me, Group& group)>& before) {
  run_ranks(3, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment, deadline);
    Group group = world->group("dp_shard", everyone(*world));
    auto store = store_of(*world, environment);
    before(me, group);
    if (me.rank == 1) {
      wait_until_told(store);
      return;
    }
    Pending pending = group.all_reduce(at::ones({5}), Reduce::kSum, "gradients of block 7");
    // However late one of them is, both have arrived when the deadline of the other ends.
    store.set(format("called/{}", me.rank), "yes");
    (void)store.get(format("called/{}", 2 - me.rank), 60s);
    expect(group, error_text<PeerLost>([&] { pending.wait(); }));
    tell_rank_1(store, me.rank);
  });
}

TEST(Deadline, NamesPurposeGroupTimeAndWhoIsMissing) {
  without_rank_1(
      2s,
      [](Group& group, const std::string& text) {
        EXPECT_THAT(text, ContainsRegex(format("rank {}: [2-9]", group.rank())));
        EXPECT_THAT(text,
                    HasSubstr("in all_reduce 'gradients of block 7' on dp_shard (3 ranks), call 0; "
                              "rank 1 did not arrive"));
      },
      [](const cluster::Membership& me, Group& group) {
        // Transfers that not every rank takes part in do not confuse the count of collectives.
        if (me.rank == 0) group.send(at::ones({3}), 1, 0, "ahead").wait();
        at::Tensor x = at::zeros({3});
        if (me.rank == 1) group.recv(x, 0, 0, "ahead").wait();
      });
}

TEST(Deadline, DoesNotNameThoseWhoCameLate) {
  without_rank_1(
      8s,
      [](Group& group, const std::string& text) {
        if (group.rank() == 0) {
          EXPECT_THAT(text, HasSubstr("; rank 1 did not arrive"));
        }
      },
      [](const cluster::Membership& me, Group& /*group*/) {
        // By more than whoever gives up first waits for the others to sign.
        if (me.rank == 2) std::this_thread::sleep_for(3s);
      });
}

// Otherwise destructors that wait for one call after the other would hide the first error for many
// deadlines.
TEST(Deadline, OnceACallHasFailedNothingElseIsWaitedFor) {
  run_ranks(3, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment, 2s);
    std::vector<Group> groups;
    for (const char* name : {"a", "b", "c"}) groups.push_back(world->group(name, everyone(*world)));
    auto store = store_of(*world, environment);
    if (me.rank == 1) {
      wait_until_told(store);
      return;
    }
    std::vector<Pending> calls;
    for (Group& group : groups)
      calls.push_back(group.all_reduce(at::ones({5}), Reduce::kSum, "gradients"));
    EXPECT_THAT(error_text<PeerLost>([&] { calls[0].wait(); }), HasSubstr("rank 1 did not arrive"));
    for (const size_t i : {1, 2})
      EXPECT_THAT(error_text<PeerLost>([&] { calls[i].wait(); }),
                  HasSubstr("is not waited for: another call has failed"));
    tell_rank_1(store, me.rank);
  });
}

TEST(Deadline, OfATransferNamesThePartner) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment);
    Group group = world->group("pp", everyone(*world));
    if (me.rank == 0) {
      at::Tensor x = at::zeros({5});
      Pending pending = group.recv(x, 1, 3, "activations");
      EXPECT_THAT(error_text<PeerLost>([&] { pending.wait_host(500ms); }),
                  HasSubstr("in recv 'activations' from rank 1 on pp"));
    }
  });
}

TEST(Deadline, BoundsTheRendezvous) {
  run_ranks(2,
            [](const cluster::Membership& me, const cluster::Environment& environment) {
              if (me.rank == 1) return;  // never joins
              World::join(me, environment, {.backend = Backend::kGloo, .rendezvous = 1s});
            },
            {.expected_exit_code = 75,
             .expected_cause = "rank 1 of 2 did not arrive at rank 0's store at 127.0.0.1:"});
}

TEST(Fault, AKilledRankIsTheCauseAndItsPeersSaySo) {
  run_ranks(3,
            [](const cluster::Membership& me, const cluster::Environment& environment) {
              const auto world = join_gloo(me, environment);
              Group group = world->group("all", everyone(*world));
              group.barrier("together").wait();
              if (me.rank == 2) ::kill(::getpid(), SIGKILL);
              const std::string text = error_text<PeerLost>(
                  [&] { group.all_reduce(at::ones({9}), Reduce::kSum, "after the kill").wait(); });
              EXPECT_THAT(
                  text,
                  HasSubstr("a peer is gone in all_reduce 'after the kill' on all (3 ranks)"));
              throw PeerLost(text);
            },
            {.expected_exit_code = 128 + SIGKILL, .expected_cause = "rank 2"});
}

// An error that a restart would not fix must not ask for one.
TEST(Fault, ACallThatCannotStartIsNoPeersFault) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment);
    Group group = world->group("all", everyone(*world));
    world->control().barrier(
        "connected");  // or the faster rank would leave while the other connects
    const at::Tensor complex = at::ones({5}, at::kComplexFloat);
    EXPECT_THAT(error_text<BugError>(
                    [&] { group.all_reduce(complex, Reduce::kSum, "complex numbers").wait(); }),
                HasSubstr("complex numbers"));
  });
}

TEST(Fault, TheReasonToEndIsSaidAtOnceWhateverIsInFlight) {
  run_ranks(2,
            [](const cluster::Membership& me, const cluster::Environment& environment) {
              const auto world = join_gloo(me, environment, /*deadline=*/24h);
              Group group = world->group("all", everyone(*world));
              at::Tensor x = at::ones({9});
              if (me.rank == 0) {
                group.recv(x, 1, 0, "never sent").wait();
                return;
              }
              Pending sum = group.all_reduce(x, Reduce::kSum, "nobody joins");
              at::Tensor whole = at::ones({18});
              Pending gathered = group.all_gather(whole, x, "nobody joins");
              throw DataError("shard 3 is damaged");
            },
            {.expected_exit_code = 3, .expected_cause = "shard 3 is damaged"});
}

// Counts what passes through torch's CPU allocator, where Gloo's own copies come from.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    now_ += bytes;
    peak_ = std::max(peak_.load(), now_.load());
    void* data = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
    return {data, new Block{this, data, bytes}, &release, at::kCPU};
  }
  void copy_data(void* into, const void* from, size_t count) const override {
    default_copy_data(into, from, count);
  }

  void restart() {
    peak_ = now_.load();
    base_ = now_.load();
  }
  [[nodiscard]] size_t extra() const { return peak_ - base_; }

 private:
  struct Block {
    CountingAllocator* owner;
    void* data;
    size_t bytes;
  };
  static void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->owner->now_ -= block->bytes;
    std::free(block->data);
  }
  std::atomic<size_t> now_{0};
  std::atomic<size_t> peak_{0};
  size_t base_ = 0;
};

TEST(Memory, GathersAndReduceScattersMakeNoFullSizeCopy) {
  static CountingAllocator allocator;  // torch keeps the pointer for the life of the process
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    c10::SetCPUAllocator(&allocator, 255);
    const auto world = join_gloo(me, environment);
    Group group = world->group("all", everyone(*world));
    const auto bare = world->bare_group("bare", everyone(*world));
    constexpr int64_t kElements = 4'000'037;  // 16 MB per rank, 32 MB in all
    at::Tensor whole = at::ones({kElements * 2});
    at::Tensor part = at::ones({kElements});
    allocator.restart();
    group.all_gather(whole, part, "ours").wait();
    EXPECT_LT(allocator.extra(), 1U << 20);
    allocator.restart();
    group.reduce_scatter(part, whole, Reduce::kSum, "ours").wait();
    EXPECT_LT(allocator.extra(), 5U << 20) << "four chunks of a megabyte";
    allocator.restart();
    bare->all_gather_single(whole, part)->wait();
    EXPECT_GE(allocator.extra(), static_cast<size_t>(kElements) * 8)
        << "or this comparison is no longer needed";
    allocator.restart();
    bare->reduce_scatter_single(part, whole)->wait();
    EXPECT_GE(allocator.extra(), static_cast<size_t>(kElements) * 4)
        << "or this comparison is no longer needed";
  });
}

// Ports that this process listens on.
std::vector<cluster::Endpoint> listeners() {
  std::vector<cluster::Endpoint> found;
  for (int fd = 3; fd < 256; ++fd) {
    int accepts = 0;
    socklen_t length = sizeof(accepts);
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0 && accepts != 0)
      found.push_back(cluster::local_endpoint(fd));
  }
  return found;
}

TEST(Doors, NothingListensOnAWildcardAndGlooListensToNobodyOnceConnected) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = join_gloo(me, environment);
    Group group = world->group("all", everyone(*world));
    world->close_doors();
    const std::vector<cluster::Endpoint> all = listeners();
    EXPECT_EQ(all.size(), me.rank == 0 ? 2U : 1U) << "Gloo's, and rank 0's store";
    for (const cluster::Endpoint& endpoint : all) {
      EXPECT_EQ(endpoint.address, "127.0.0.1");
      const bool is_store = endpoint.text() == world->store_endpoint();
      const Duration patience = is_store ? 30s : 300ms;
      const UniqueFd stranger = cluster::connect_to(endpoint, Clock::now() + patience);
      EXPECT_EQ(stranger.valid(), is_store) << endpoint.text();
    }
    group.barrier("still connected").wait();
    // Expected ranks can connect again.
    Group later = world->group("later", everyone(*world));
    at::Tensor x = at::ones({5});
    later.all_reduce(x, Reduce::kSum, "later").wait();
    EXPECT_TRUE(x.eq(2).all().item<bool>());
  });
}

}  // namespace
}  // namespace shoal::comm

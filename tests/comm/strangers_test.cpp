// A job gets 100,000 connections of garbage while it works, and others while it connects, and every result
// is still right.

#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include <sys/socket.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/socket.h"
#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_protocol.h"
#include "shoal/comm/gloo/listener.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"

#include "tests/support/run_ranks.h"

namespace shoal::comm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kConnections = 100'000;

// Closing with a reset leaves no TIME_WAIT behind, or a host runs out of ports after 28,000
// connections.
void close_hard(const UniqueFd& fd) {
  const linger now = {1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

cluster::Endpoint parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  return {text.substr(0, colon), std::stoi(text.substr(colon + 1))};
}

class Stranger {
 public:
  explicit Stranger(cluster::Endpoint target) : target_(std::move(target)), kept_(64) {}

  // One connection of garbage; the kinds take turns.
  void knock(int number) {
    UniqueFd fd = cluster::connect_to(target_, Clock::now() + 2s);
    if (!fd.valid()) {
      ++failed_;
      return;
    }
    ++connected_;
    close_hard(fd);
    const auto soon = Clock::now() + 1s;
    switch (number % 6) {
      case 0:
        break;  // connects and closes
      case 1:
        cluster::send_all(fd.get(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", soon);
        break;
      case 2:
        cluster::send_all(fd.get(), noise(1 + number % 500), soon);
        break;
      case 3:  // a greeting of the right length with a wrong proof
        cluster::send_all(fd.get(), noise(64).insert(0, cluster::kClientMagic), soon);
        break;
      case 4:  // a request without a greeting
        cluster::send_all(
            fd.get(),
            cluster::StoreRequest{cluster::StoreOp::kSet, {"stranger"}, {"was here"}}.encode(),
            soon);
        break;
      case 5:
        kept_[static_cast<size_t>(number) % kept_.size()] = std::move(fd);
        break;  // sends nothing and stays connected
    }
  }

  [[nodiscard]] int connected() const { return connected_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  std::string noise(int size) {
    std::string bytes(static_cast<size_t>(size), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }

  cluster::Endpoint target_;
  std::vector<UniqueFd> kept_;
  std::minstd_rand random_{42};
  int connected_ = 0;
  int failed_ = 0;
};

TEST(Strangers, LeaveARunningJobUntouched) {
  tests::run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world =
        World::join(me, environment, {.backend = config::Backend::kGloo, .deadline = 60s});
    Group group = world->group("all", {0, 1, 2});
    world->close_doors();
    std::atomic<bool> knocking{me.rank == 2};
    Stranger stranger(parse(world->store_endpoint()));
    std::thread attack([&] {
      if (me.rank != 2) return;
      for (int i = 0; i < kConnections; ++i) stranger.knock(i);
      knocking = false;
    });
    int64_t steps = 0;
    bool more = true;
    while (more) {
      at::Tensor x = at::full({10'007}, me.rank + 1, at::kDouble);
      group.all_reduce(x, Reduce::kSum, "under attack").wait();
      ASSERT_TRUE(x.eq(6).all().item<bool>());
      at::Tensor whole = at::zeros({3 * 1021}, at::kFloat);
      group.all_gather(whole, at::full({1021}, me.rank, at::kFloat), "under attack").wait();
      ASSERT_EQ(whole.sum().item<float>(), 3.0F * 1021.0F);
      more = world->control().any(knocking, "is the stranger still there");
      ++steps;
    }
    attack.join();
    if (me.rank == 2) {
      std::cout << stranger.connected() << " connections, " << stranger.failed()
                << " that were not accepted, " << steps << " steps\n";
      EXPECT_EQ(stranger.connected() + stranger.failed(), kConnections);
      EXPECT_GT(stranger.connected(), kConnections * 9 / 10)
          << "most of them must have got through to the store";
    }
    // The store still serves its ranks, and holds nothing a stranger sent.
    const cluster::Secret secret = cluster::job_secret(environment, me.job);
    auto store = cluster::StoreClient::connect({{parse(world->store_endpoint())}, secret}, 10s);
    EXPECT_FALSE(store.check({"stranger"}));
    store.set(format("after/{}", me.rank), "fine");
    EXPECT_EQ(store.get("after/0", 10s), "fine");
    world->control().barrier("done");
  });
}

// Gloo keeps whoever connects, and ends the process when descriptors run out: a flood at an open door is beyond its
// means, and on a busy host groups take long to connect.
constexpr int kAtEachDoor = 2000;

// Gloo's listeners are open while groups are being connected: strangers come to each of them.
TEST(Strangers, DoNotHinderGroupsThatConnect) {
  tests::run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world =
        World::join(me, environment, {.backend = config::Backend::kGloo, .deadline = 60s});
    std::vector<Group> groups = {world->group("first", {0, 1})};  // opens the doors
    std::atomic<bool> connecting{true};
    std::vector<std::unique_ptr<Stranger>> strangers;
    for (const auto& [listener, inode] : listening_descriptors("127.0.0.1"))
      strangers.push_back(std::make_unique<Stranger>(cluster::local_endpoint(listener)));
    std::thread attack([&] {
      // At least once, also on a host where all groups are connected before this thread runs.
      for (int i = 0; i == 0 || (connecting && i < kAtEachDoor); ++i) {
        for (const auto& stranger : strangers) stranger->knock(i);
      }
    });
    for (int i = 0; i < 50; ++i) {
      groups.push_back(world->group(format("group {}", i), {0, 1}));
      at::Tensor x = at::full({1021}, me.rank + 1, at::kDouble);
      groups.back().all_reduce(x, Reduce::kSum, "beside strangers").wait();
      ASSERT_TRUE(x.eq(3).all().item<bool>());
    }
    connecting = false;
    attack.join();
    int let_in = 0;
    for (const auto& stranger : strangers) {
      EXPECT_GT(stranger->connected(), 0);
      let_in += stranger->connected();
    }
    std::cout << let_in << " strangers at " << strangers.size() << " ports\n";
    world->close_doors();
    world->control().barrier("done");
  });
}

}  // namespace
}  // namespace shoal::comm

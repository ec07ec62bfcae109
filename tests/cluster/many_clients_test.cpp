// The store with as many clients as a large job has, all waiting at once.

#include <cstring>
#include <thread>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_server.h"
#include "shoal/core/format.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kClients = 4096;

// A client whose requests can be sent without waiting for the answer, so that one thread can be
// thousands of ranks.
class RawClient {
 public:
  RawClient(const Endpoint& server, const Secret& secret)
      : fd_(connect_to(server, Clock::now() + 30s)) {
    std::string greeting(kServerGreetingBytes, '\0');
    std::string proof(kMacBytes, '\0');
    const std::string nonce = random_bytes(kNonceBytes);
    ok_ = fd_.valid() &&
          receive_exactly(fd_.get(), greeting.data(), greeting.size(), Clock::now() + 30s);
    const std::string reply = std::string(kClientMagic) + nonce +
                              client_proof(secret, greeting.substr(kServerMagic.size()), nonce);
    ok_ = ok_ && send_all(fd_.get(), reply, Clock::now() + 30s) &&
          receive_exactly(fd_.get(), proof.data(), proof.size(), Clock::now() + 30s);
  }

  bool ask(const StoreRequest& request) {
    return send_all(fd_.get(), request.encode(), Clock::now() + 30s);
  }

  std::optional<StoreAnswer> hear() {
    uint32_t length = 0;
    if (!receive_exactly(fd_.get(), reinterpret_cast<char*>(&length), sizeof(length),
                         Clock::now() + 30s))
      return std::nullopt;
    std::string message(length, '\0');
    if (!receive_exactly(fd_.get(), message.data(), message.size(), Clock::now() + 30s))
      return std::nullopt;
    return StoreAnswer::decode(message);
  }

  [[nodiscard]] bool ok() const { return ok_; }

 private:
  UniqueFd fd_;
  bool ok_ = false;
};

TEST(ManyClients, FourThousandRanksMeet) {
  const rlimit enough = {3 * kClients, 3 * kClients};
  if (::setrlimit(RLIMIT_NOFILE, &enough) != 0)
    GTEST_SKIP() << "this user may not open " << 3 * kClients << " descriptors";
  const Secret secret = Secret::random();
  const StoreServer server(
      {.address = "127.0.0.1", .ports = {0}, .secret = secret, .max_clients = kClients + 1});
  const Clock::time_point began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };

  std::vector<std::unique_ptr<RawClient>> clients(kClients);
  std::vector<std::thread> threads;
  for (int part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      for (int i = part; i < kClients; i += 4)
        clients[static_cast<size_t>(i)] = std::make_unique<RawClient>(server.endpoint(), secret);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& client : clients) ASSERT_TRUE(client->ok());
  const double connected = seconds();

  // Everyone says that it is there and waits for the word of rank 0, which waits for all of them by
  // name.
  StoreRequest all{StoreOp::kWait, {}, {}, 0, 60s};
  for (int i = 0; i < kClients; ++i) all.keys.push_back(format("rank/{}", i));
  StoreClient zero = StoreClient::connect({{server.endpoint()}, secret}, 10s);
  for (int i = 0; i < kClients; ++i) {
    RawClient& client = *clients[static_cast<size_t>(i)];
    ASSERT_TRUE(client.ask({StoreOp::kSet, {format("rank/{}", i)}, {"host"}}));
    ASSERT_TRUE(client.hear());
    ASSERT_TRUE(client.ask({StoreOp::kGet, {"go"}, {}, 0, 60s}));
    if (i == kClients / 2) {
      EXPECT_THROW(zero.wait(all.keys, 10ms), StoreTimeout);
    }
  }
  zero.wait(all.keys, 60s);
  const double arrived = seconds();
  zero.set("go", "now");
  for (const auto& client : clients) {
    const auto answer = client->hear();
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->texts.at(0), "now");
  }
  std::cout << format("{} clients: connected {:.2f} s, arrived {:.2f} s, released {:.3f} s\n",
                      kClients, connected, arrived - connected, seconds() - arrived);
  EXPECT_EQ(server.counts().clients, kClients + 1);
}

}  // namespace
}  // namespace shoal::cluster

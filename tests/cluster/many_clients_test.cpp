// The store with as many clients as a large job has, all waiting at once.
//
//   SHOAL_CLIENTS=16384 store_job_test --gtest_filter='ManyClients*'

#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "shoal/cluster/descriptors.h"
#include "shoal/cluster/rendezvous.h"
#include "shoal/cluster/store_line.h"
#include "shoal/core/format.h"

#include "tests/support/run_ranks.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kProcesses = 4;  // of clients: one has not enough descriptors for all of them

int clients_asked_for() {
  const char* const asked = std::getenv("SHOAL_CLIENTS");
  return asked == nullptr ? 4096 : std::atoi(asked);
}

std::string client_key(int client) { return format("rendezvous/rank/{}", client); }

// A client whose requests can be sent without waiting for the answer, so that one thread can be
// thousands of ranks.
class RawClient {
 public:
  RawClient(const Endpoint& server, const Secret& secret)
      : line_(greet_store(
            connect_to(server, Clock::now() + 30s), secret, Clock::now() + 30s, reason_)) {}

  bool ask(const StoreRequest& request) {
    return send_message(*line_, request.encode(), Clock::now() + 30s);
  }

  std::optional<StoreAnswer> hear() {
    const auto message = receive_message(*line_, Clock::now() + 60s);
    return message ? StoreAnswer::decode(*message) : std::nullopt;
  }

  [[nodiscard]] bool connected() const { return line_.has_value(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
  std::optional<StoreLine> line_;
};

std::vector<std::string> of_every_process(const std::string& what) {
  std::vector<std::string> keys;
  for (int process = 1; process <= kProcesses; ++process)
    keys.push_back(format("{}/{}", what, process));
  return keys;
}

// `job` is where the processes agree, beside the store that is looked at.
void serve_many(StoreClient& job, const Secret& secret) {
  const int clients = clients_asked_for();
  need_descriptors(static_cast<size_t>(clients), "the store of this test");
  const StoreServer server(
      {.address = "127.0.0.1", .ports = {0}, .secret = secret, .max_clients = clients + 1});
  const Clock::time_point began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  job.set("port", std::to_string(server.endpoint().port));
  job.wait(of_every_process("connected"), 60s);
  const double connected = seconds();
  StoreClient zero = StoreClient::connect({{server.endpoint()}, secret}, 10s);
  std::vector<std::string> keys;
  for (int i = 0; i < clients; ++i) keys.push_back(client_key(i));
  EXPECT_THROW(zero.wait(keys, 1ms), StoreTimeout);
  job.set("arrive", "");
  zero.wait(keys, 60s);
  const double arrived = seconds();
  zero.set("rendezvous/complete", "1");
  job.wait(of_every_process("released"), 60s);
  std::cout << format(
      "{} clients: connected {:.2f} s, arrived {:.2f} s, released {:.2f} s, in all {:.2f} s\n",
      clients, connected, arrived - connected, seconds() - arrived, seconds());
  EXPECT_EQ(server.counts().clients, clients + 1);
  job.set("leave", "");
  job.wait(of_every_process("left"), 60s);
}

// The requests of meet() in rendezvous.cpp.
void meet_as_many(int process, StoreClient& job, const Secret& secret) {
  const int clients = clients_asked_for();
  const int first = clients * (process - 1) / kProcesses;
  const int last = clients * process / kProcesses;
  need_descriptors(static_cast<size_t>(last - first), "the clients of this test");
  const Endpoint server{"127.0.0.1", std::stoi(job.get("port", 60s))};
  const Clock::time_point deadline = Clock::now() + 60s;
  std::vector<std::unique_ptr<RawClient>> mine;
  for (int i = first; i < last; ++i) {
    mine.push_back(std::make_unique<RawClient>(server, secret));
    // A process without a core may take more than the second that a greeting has.
    while (!mine.back()->connected() && Clock::now() < deadline)
      mine.back() = std::make_unique<RawClient>(server, secret);
    ASSERT_TRUE(mine.back()->connected()) << mine.back()->reason();
  }
  job.set(format("connected/{}", process), "");
  job.wait({"arrive"}, 60s);
  for (int i = first; i < last; ++i) {
    RawClient& client = *mine[static_cast<size_t>(i - first)];
    ASSERT_TRUE(client.ask({StoreOp::kAdd, {format("rendezvous/arrivals/{}", i)}, {}, 1}));
    ASSERT_EQ(client.hear().value().number, 1);
    ASSERT_TRUE(client.ask({StoreOp::kSet, {client_key(i)}, {"host"}}));
    ASSERT_TRUE(client.hear());
    ASSERT_TRUE(client.ask({StoreOp::kWait, {"rendezvous/complete"}, {}, 0, 60s}));
  }
  for (const auto& client : mine) ASSERT_EQ(client->hear().value().status, StoreStatus::kDone);
  job.set(format("released/{}", process), "");
  job.wait({"leave"}, 60s);
  job.set(format("left/{}", process), "");
}

TEST(ManyClients, Meet) {
  tests::run_ranks(1 + kProcesses, [](const Membership& me, const Environment& environment) {
    Rendezvous meeting = meet(me, environment, {.patience = 60s});
    const Secret secret = job_secret(environment, me.job).derive("many clients");
    if (me.rank == 0) {
      serve_many(*meeting.store(), secret);
    } else {
      meet_as_many(me.rank, *meeting.store(), secret);
    }
    meeting.leave(10s);
  });
}

}  // namespace
}  // namespace shoal::cluster

#include "shoal/cluster/store_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_line.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;

class StoreServerTest : public ::testing::Test {
 protected:
  StoreServerOptions options() const {
    return {.address = "127.0.0.1", .ports = {0}, .secret = secret_};
  }

  StoreClient client(const StoreServer& server) const {
    return StoreClient::connect({{server.endpoint()}, secret_}, 30s);
  }

  // A connection whose frames can be made and sent apart.
  StoreLine raw_line(const StoreServer& server) const {
    std::string reason;
    auto line = greet_store(connect_to(server.endpoint(), Clock::now() + 30s), secret_,
                            Clock::now() + 30s, reason);
    if (!line) throw PeerLost(reason);
    return std::move(*line);
  }

  const Secret secret_ = Secret::random();
};

// Waits for something another thread does; the test fails by ctest's limit if it never happens.
template <class Condition>
void eventually(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

TEST_F(StoreServerTest, ExecutesTheWillOfAConnectionThatEnds) {
  const StoreServer server(options());
  StoreClient store = client(server);
  {
    StoreClient mortal = client(server);
    mortal.leave_will("first", "is replaced");
    mortal.leave_will("will", "gone");
    EXPECT_FALSE(store.check({"will"}));
  }
  EXPECT_EQ(store.get("will", 10s), "gone");  // is woken by it
  EXPECT_FALSE(store.check({"first"}));
}

TEST_F(StoreServerTest, KeepsWhatAClientHasWrittenBeforeItsWill) {
  const StoreServer server(options());
  StoreClient store = client(server);
  {
    StoreClient mortal = client(server);
    mortal.leave_will("report", "gone");
    mortal.set("report", "step 41");
    mortal.leave_will("end", "gone");
    StoreClient other = client(server);
    other.leave_will("report", "gone");
  }
  store.wait({"end"}, 10s);
  EXPECT_EQ(store.get("report", 1s), "step 41");
}

TEST_F(StoreServerTest, KeysUnderAPrefixAreApart) {
  const StoreServer server(options());
  StoreClient store = client(server);
  StoreClient first = store.under("round/1/");
  StoreClient second = store.under("round/").under("2/");
  first.set("a", "1");
  second.set("a", "2");
  second.set("b", "3");
  EXPECT_THAT(store.get({"round/1/a", "round/2/a", "round/2/b"}, 1s), ElementsAre("1", "2", "3"));
  EXPECT_FALSE(first.check({"b"}));
  EXPECT_EQ(second.clone(10s).get("b", 1s), "3");
  try {
    first.wait({"a", "missing"}, 10ms);
    ADD_FAILURE() << "there is no such key";
  } catch (const StoreTimeout& timeout) {
    EXPECT_THAT(timeout.missing(), ElementsAre("missing"));
  }
}

TEST_F(StoreServerTest, ServesEveryOperation) {
  const StoreServer server(options());
  StoreClient store = client(server);
  store.set("a", "1");
  store.set({"b", "c"}, {"2", std::string("\0x", 2)});
  EXPECT_THAT(store.get({"a", "b", "c"}, 1s), ElementsAre("1", "2", std::string("\0x", 2)));
  EXPECT_EQ(store.add("n", 3), 3);
  EXPECT_EQ(store.add("n", 4), 7);
  store.append("a", "0");
  EXPECT_EQ(store.get("a", 1s), "10");
  EXPECT_EQ(store.compare_set("a", "10", "11"), "11");
  EXPECT_TRUE(store.check({"a", "b"}));
  EXPECT_FALSE(store.check({"a", "z"}));
  EXPECT_TRUE(store.remove("a"));
  EXPECT_FALSE(store.remove("a"));
  EXPECT_EQ(store.num_keys(), 3);
  EXPECT_EQ(store.own_address(), "127.0.0.1");
}

TEST_F(StoreServerTest, HoldsTheAnswerBackUntilTheKeysExist) {
  const StoreServer server(options());
  StoreClient waiting = client(server);
  StoreClient writing = client(server);
  std::thread writer([&] {
    for (const char* key : {"third", "first", "second"}) writing.set(key, key);
  });
  EXPECT_THAT(waiting.get({"first", "second", "third"}, 10s),
              ElementsAre("first", "second", "third"));
  writer.join();
}

TEST_F(StoreServerTest, AWaitSurvivesAKeyThatComesAndGoes) {
  const StoreServer server(options());
  StoreClient waiting = client(server);
  StoreClient writing = client(server);
  std::atomic<bool> answered{false};
  std::thread waiter([&] {
    waiting.wait({"a", "b"}, 10s);
    answered = true;
  });
  writing.set("a", "");
  writing.remove("a");
  writing.set("b", "");
  EXPECT_FALSE(writing.check({"a"}));
  EXPECT_FALSE(answered);
  writing.set("a", "");
  waiter.join();
}

TEST_F(StoreServerTest, PatienceEndsAndNamesTheMissingKeys) {
  const StoreServer server(options());
  StoreClient store = client(server);
  store.set("here", "");
  try {
    store.wait({"here", "gone", "lost"}, 50ms);
    FAIL();
  } catch (const StoreTimeout& timeout) {
    EXPECT_THAT(timeout.what(), HasSubstr("waited 50ms for gone, lost in the store"));
    EXPECT_THAT(timeout.missing(), ElementsAre("gone", "lost"));
  }
  store.set("after", "1");
  EXPECT_EQ(store.get("after", 1s), "1") << "the connection goes on after a timeout";
}

TEST_F(StoreServerTest, AClientWithoutTheSecretIsTurnedAway) {
  const StoreServer server(options());
  StoreClient honest = client(server);
  honest.set("k", "v");
  const StoreTarget liar{{server.endpoint()}, Secret::random()};
  EXPECT_THAT(error_text<PeerLost>([&] { StoreClient::connect(liar, 2s); }),
              HasSubstr("does not accept this job's secret"));
  EXPECT_EQ(honest.get("k", 1s), "v");
  EXPECT_EQ(server.counts().clients, 1);
  EXPECT_GE(server.counts().turned_away, 1);
}

TEST_F(StoreServerTest, AClientNoticesAServerWithoutTheSecret) {
  StoreServerOptions other = options();
  other.secret = Secret::random();
  const StoreServer foreign(std::move(other));
  EXPECT_THROW((void)StoreClient::connect({{foreign.endpoint()}, secret_}, 100ms), PeerLost);
}

TEST_F(StoreServerTest, ASequenceOfPortsLeadsPastAnotherJob) {
  StoreServerOptions other = options();
  other.secret = Secret::random();
  const StoreServer foreign(std::move(other));
  StoreServerOptions ours = options();
  ours.ports = {foreign.endpoint().port, 0};
  const StoreServer server(std::move(ours));
  EXPECT_NE(server.endpoint().port, foreign.endpoint().port);
  StoreClient store = StoreClient::connect({{foreign.endpoint(), server.endpoint()}, secret_}, 30s);
  EXPECT_EQ(store.server().port, server.endpoint().port);
}

TEST_F(StoreServerTest, ASilentStrangerIsClosed) {
  const StoreServer server(options());
  const Clock::time_point began = Clock::now();
  const UniqueFd stranger = connect_to(server.endpoint(), Clock::now() + 30s);
  ASSERT_TRUE(stranger.valid());
  std::string greeting(kServerGreetingBytes, '\0');
  ASSERT_TRUE(
      receive_exactly(stranger.get(), greeting.data(), greeting.size(), Clock::now() + 30s));
  char more = 0;
  EXPECT_FALSE(receive_exactly(stranger.get(), &more, 1, Clock::now() + 30s));
  EXPECT_NE(errno, ETIMEDOUT) << "closed by the server, not given up by us";
  EXPECT_GT(Clock::now() - began, 900ms);
}

TEST_F(StoreServerTest, ARequestBeforeTheProofIsNeverRead) {
  const StoreServer server(options());
  const UniqueFd stranger = connect_to(server.endpoint(), Clock::now() + 30s);
  StoreSeal seal(secret_, StoreDirection::kRequests, "", "");
  const std::string request =
      seal.seal(StoreRequest{StoreOp::kSet, {"k"}, {std::string(100, 'v')}}.encode());
  ASSERT_TRUE(send_all(stranger.get(), request, Clock::now() + 30s));
  eventually([&] { return server.counts().turned_away == 1; });
  EXPECT_EQ(client(server).num_keys(), 0);
}

// Whether the store hangs up on what was sent.
bool hangs_up(const UniqueFd& fd) {
  char more = 0;
  while (receive_exactly(fd.get(), &more, 1, Clock::now() + 30s)) {
  }
  return errno != ETIMEDOUT;
}

TEST_F(StoreServerTest, AProvenClientThatSendsRubbishIsClosedAndHurtsNobody) {
  const StoreServer server(options());
  StoreClient honest = client(server);
  honest.set("k", "v");
  const std::string change = StoreRequest{StoreOp::kSet, {"k"}, {"changed"}}.encode();
  const std::vector<std::function<std::string(StoreLine&)>> rubbish = {
      [](StoreLine&) { return std::string("\xff\xff\xff\x7f"); },
      [](StoreLine&) { return std::string("\3\0\0\0abc", 7) + std::string(kMacBytes, 'x'); },
      [](StoreLine& line) { return line.requests.seal("abc"); },
      [&](StoreLine& line) { return line.answers.seal(change); },
      [&](StoreLine& line) {
        line.requests.seal(change);  // was lost on the way
        return line.requests.seal(change);
      },
      [&](StoreLine& line) {
        const std::string first = line.requests.seal(change);
        return first + line.requests.seal(change);
      }};
  for (size_t i = 0; i < rubbish.size(); ++i) {
    SCOPED_TRACE(i);
    StoreLine line = raw_line(server);
    ASSERT_TRUE(send_all(line.fd.get(), rubbish[i](line), Clock::now() + 30s));
    EXPECT_TRUE(hangs_up(line.fd));
    EXPECT_EQ(honest.get("k", 1s), "v");
  }
  EXPECT_EQ(server.counts().dismissed, static_cast<int64_t>(rubbish.size()));
}

TEST_F(StoreServerTest, ARequestThatComesAgainIsNotExecutedAgain) {
  const StoreServer server(options());
  StoreClient honest = client(server);
  StoreLine line = raw_line(server);
  const std::string frame = line.requests.seal(StoreRequest{StoreOp::kAdd, {"n"}, {}, 1}.encode());
  ASSERT_TRUE(send_all(line.fd.get(), frame, Clock::now() + 30s));
  ASSERT_TRUE(receive_message(line, Clock::now() + 30s));
  ASSERT_TRUE(send_all(line.fd.get(), frame, Clock::now() + 30s));
  EXPECT_TRUE(hangs_up(line.fd));
  EXPECT_EQ(honest.add("n", 0), 1);
}

TEST_F(StoreServerTest, AClientOfTheFirstVersionIsTurnedAway) {
  const StoreServer server(options());
  const UniqueFd fd = connect_to(server.endpoint(), Clock::now() + 30s);
  std::string greeting(kServerGreetingBytes, '\0');
  ASSERT_TRUE(receive_exactly(fd.get(), greeting.data(), greeting.size(), Clock::now() + 30s));
  const std::string nonce = random_bytes(kNonceBytes);
  const std::string proof = client_proof(secret_, greeting.substr(kServerMagic.size()), nonce);
  ASSERT_TRUE(send_all(fd.get(), "SHOALC1\n" + nonce + proof, Clock::now() + 30s));
  EXPECT_TRUE(hangs_up(fd));
  EXPECT_EQ(server.counts().admitted, 0);
}

// Someone between a client and the store, who hands on what both send, and may change it.
class Between {
 public:
  // Takes the sender and the number of its message, the greeting included, and what it sent.
  enum class Sender { kClient, kStore };
  using Change = std::function<std::string(Sender, int, std::string)>;

  Between(const Endpoint& store, Change change)
      : listener_(listen_on({"127.0.0.1", 0})),
        thread_([this, store, change = std::move(change)](const std::stop_token& stop) {
          pollfd knock{listener_.get(), POLLIN, 0};
          ::poll(&knock, 1, 10'000);
          const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
          const UniqueFd server = connect_to(store, Clock::now() + 30s);
          hand_on(stop, client.get(), server.get(), change);
        }) {}

  Endpoint endpoint() const { return local_endpoint(listener_.get()); }

 private:
  // One side speaks at a time, and a message of these tests comes in one piece.
  static void hand_on(const std::stop_token& stop, int client, int store, const Change& change) {
    std::array<int, 2> counts{};
    std::array<pollfd, 2> ends = {{{client, POLLIN, 0}, {store, POLLIN, 0}}};
    while (!stop.stop_requested()) {
      ::poll(ends.data(), ends.size(), 10);
      for (size_t from = 0; from < 2; ++from) {
        if (ends.at(from).revents == 0) continue;
        std::array<char, 65536> buffer;
        const ssize_t got = ::recv(ends.at(from).fd, buffer.data(), buffer.size(), 0);
        if (got <= 0) return;
        const std::string sent(buffer.data(), static_cast<size_t>(got));
        const Sender sender = from == 0 ? Sender::kClient : Sender::kStore;
        send_all(ends.at(1 - from).fd, change(sender, counts.at(from)++, sent), Clock::now() + 30s);
      }
    }
  }

  UniqueFd listener_;
  std::jthread thread_;
};

TEST_F(StoreServerTest, SomeoneBetweenChangesNothing) {
  using Sender = Between::Sender;
  const auto flipped = [](std::string text) {
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    return text;
  };
  // Messages 0 and 1 of the store and 0 of the client are the greeting.
  std::string kept;
  const std::vector<std::pair<std::string, Between::Change>> changes = {
      {"a request changed",
       [&](Sender sender, int number, std::string text) {
         return sender == Sender::kClient && number == 2 ? flipped(text) : text;
       }},
      {"an answer changed",
       [&](Sender sender, int number, std::string text) {
         return sender == Sender::kStore && number == 3 ? flipped(text) : text;
       }},
      {"a request twice",
       [&](Sender sender, int number, std::string text) {
         return sender == Sender::kClient && number == 2 ? text + text : text;
       }},
      {"an answer again, instead of the next one",
       [&](Sender sender, int number, std::string text) {
         if (sender == Sender::kStore && number == 2) kept = text;
         return sender == Sender::kStore && number == 3 ? kept : text;
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    const StoreServer server(options());
    StoreClient honest = client(server);
    const Between between(server.endpoint(), change);
    StoreClient store = StoreClient::connect({{between.endpoint()}, secret_}, 30s);
    EXPECT_EQ(store.add("n", 2), 2);
    EXPECT_THROW(store.add("n", 3), PeerLost);
    EXPECT_THROW(store.add("n", 5), PeerLost) << "the connection is not used again";
    const int64_t executed = what.starts_with("an answer") ? 5 : 2;
    EXPECT_EQ(honest.add("n", 0), executed);
  }
}

TEST_F(StoreServerTest, AChangedAnswerIsNotCalledALostStore) {
  const StoreServer server(options());
  const Between between(server.endpoint(),
                        [](Between::Sender sender, int number, std::string text) {
                          if (sender == Between::Sender::kStore && number == 2) text.back() ^= 1;
                          return text;
                        });
  StoreClient store = StoreClient::connect({{between.endpoint()}, secret_}, 30s);
  EXPECT_THAT(error_text<PeerLost>([&] { store.set("k", "v"); }),
              HasSubstr("did not send what came in its name"));
}

TEST_F(StoreServerTest, ARefusedRequestSaysWhyAndClosesTheConnection) {
  StoreServerOptions small = options();
  small.limits.max_value_bytes = 10;
  const StoreServer server(std::move(small));
  StoreClient store = client(server);
  EXPECT_THAT(error_text<BugError>([&] { store.set("k", std::string(11, 'x')); }),
              HasSubstr("a value of 11 bytes"));
  EXPECT_THROW(store.set("k", ""), PeerLost);
}

TEST_F(StoreServerTest, TheNumberOfClientsIsBounded) {
  StoreServerOptions two = options();
  two.max_clients = 2;
  const StoreServer server(std::move(two));
  const StoreClient first = client(server);
  auto second = std::make_unique<StoreClient>(client(server));
  EXPECT_THROW((void)StoreClient::connect({{server.endpoint()}, secret_}, 50ms), PeerLost);
  second.reset();
  EXPECT_NO_THROW((void)client(server)) << "a place is free again";
}

TEST_F(StoreServerTest, AFloodOfStrangersLetsHonestClientsIn) {
  StoreServerOptions tight = options();
  tight.max_strangers = 16;
  const StoreServer server(std::move(tight));
  StoreClient working = client(server);
  const std::jthread flood([&](const std::stop_token& stop) {
    std::vector<UniqueFd> open(200);  // many at once, silent and never closed by themselves
    for (size_t i = 0; !stop.stop_requested(); ++i) {
      open[i % open.size()] = connect_to(server.endpoint(), Clock::now() + 1s);
      if (i % 3 == 0)
        send_all(open[i % open.size()].get(), "GET / HTTP/1.1\r\n\r\n", Clock::now() + 1s);
    }
  });
  eventually([&] { return server.counts().turned_away > 500; });
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(working.add("n", 1), i + 1);
    StoreClient late = client(server);
    late.set("late", std::to_string(i));
  }
  EXPECT_EQ(working.get("late", 1s), "49");
}

// Ranks that have proven the secret are no strangers, though the second for it is not over.
TEST_F(StoreServerTest, AdmittedClientsDoNotPushOutWhoIsAboutToProveItself) {
  StoreServerOptions tight = options();
  tight.max_strangers = 4;
  tight.greeting = 60s;
  const StoreServer server(std::move(tight));
  UniqueFd slow = connect_to(server.endpoint(), Clock::now() + 30s);
  std::vector<StoreLine> others;
  for (int i = 0; i < 20; ++i) others.push_back(raw_line(server));
  std::string reason;
  EXPECT_TRUE(greet_store(std::move(slow), secret_, Clock::now() + 30s, reason)) << reason;
  EXPECT_EQ(server.counts().turned_away, 0);
}

TEST_F(StoreServerTest, ALostServerIsNoticed) {
  auto server = std::make_unique<StoreServer>(options());
  StoreClient store = client(*server);
  server.reset();
  EXPECT_THAT(error_text<PeerLost>([&] { store.get("k", 10s); }), HasSubstr("is gone"));
}

// The store answers after the time that the call had.
TEST_F(StoreServerTest, ALateAnswerCostsTheCallAndNotTheConnection) {
  const StoreServer server(options());
  StoreClient store = client(server);
  EXPECT_THAT(error_text<PeerLost>([&] { store.get("never", 2s, -1900ms); }),
              HasSubstr("did not answer within 100ms"));
  EXPECT_THAT(error_text<PeerLost>([&] { store.set("k", "v", 50ms); }),
              HasSubstr("did not answer"));
  store.set("k", "w");
  EXPECT_EQ(store.get("k", 10s), "w");
  EXPECT_THROW(store.get("never", 1ms), StoreTimeout) << "an answer belongs to another call";
  EXPECT_EQ(server.counts().dismissed, 0);
}

// Seconds until the kernel asks the other ends of this port's connections whether they are there, ascending.
std::vector<double> seconds_until_asked(int port) {
  std::vector<double> seconds;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    std::string number, local, remote, state, queues, timer;
    columns >> number >> local >> remote >> state >> queues >> timer;
    const std::string end = format(":{:04X}", port);
    const bool is_connected = state == "01" && (local.ends_with(end) || remote.ends_with(end));
    if (!is_connected || !timer.starts_with("02:")) continue;
    const auto ticks = static_cast<double>(std::stoul(timer.substr(3), nullptr, 16));
    seconds.push_back(ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

TEST_F(StoreServerTest, ConnectionsAreAskedWhetherTheyAreAlive) {
  StoreServerOptions soon = options();
  soon.silence = 8s;
  const StoreServer server(std::move(soon));
  const StoreClient store = StoreClient::connect({{server.endpoint()}, secret_, 40s}, 5s);
  std::vector<double> seconds;
  // What was just sent has another timer until it has arrived.
  eventually([&] { return (seconds = seconds_until_asked(server.endpoint().port)).size() == 2; });
  EXPECT_LE(seconds[0], 4.1);
  EXPECT_LE(seconds[1], 20.1);
}

TEST_F(StoreServerTest, DrainWaitsForTheLastClient) {
  StoreServer server(options());
  auto store = std::make_unique<StoreClient>(client(server));
  EXPECT_FALSE(server.drain(20ms));
  std::thread leaver([&] { store.reset(); });
  EXPECT_TRUE(server.drain(10s));
  leaver.join();
}

TEST_F(StoreServerTest, ClonesAreIndependentConnections) {
  const StoreServer server(options());
  StoreClient store = client(server);
  StoreClient other = store.clone(5s);
  std::thread waiter([&] { EXPECT_EQ(other.get("k", 10s), "v"); });
  store.set("k", "v");
  waiter.join();
}

}  // namespace
}  // namespace shoal::cluster

// Malformed messages to the store of a job that works: mutations of true greetings and of true
// frames, other protocols, huge lengths, connections that stay half open. Each is turned away; the
// job, its keys, the store's memory and its descriptors are as before.
//
//   SHOAL_MESSAGES=1000000 store_job_test --gtest_filter='MalformedMessages*'

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "shoal/cluster/rendezvous.h"
#include "shoal/cluster/store_line.h"
#include "shoal/cluster/wire.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/run_ranks.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kWorkers = 2;            // ranks 1 and 2
constexpr int kStrangers = 2;          // ranks 3 and 4
constexpr size_t kTooLong = 9U << 20;  // beyond what the store accepts as a message
constexpr const char* kTreasure = "treasure";
constexpr const char* kTrueAdds = "true adds";

int64_t messages_asked_for() {
  const char* const asked = std::getenv("SHOAL_MESSAGES");
  return asked == nullptr ? 10'000 : std::atoll(asked);
}

// Someone who sees and changes what others send: it knows the secret only to make true messages, of
// which each that counts is then changed, or comes where it does not belong.
class Stranger {
 public:
  Stranger(Endpoint store, Secret secret, uint64_t seed)
      : store_(std::move(store)), secret_(std::move(secret)), random_(seed) {}

  void send_one(int64_t number) {
    using Way = void (Stranger::*)();
    static constexpr std::array<Way, 17> kWays = {
        &Stranger::noise,          &Stranger::other_protocol, &Stranger::half_greeting,
        &Stranger::wrong_greeting, &Stranger::old_greeting,   &Stranger::old_version,
        &Stranger::silence,        &Stranger::changed_frame,  &Stranger::frame_again,
        &Stranger::later_frame,    &Stranger::half_frame,     &Stranger::reflected_frame,
        &Stranger::foreign_frame,  &Stranger::huge_length,    &Stranger::malformed_message,
        &Stranger::two_at_once,    &Stranger::slow_frame};
    const size_t way = static_cast<size_t>(number) % kWays.size();
    SCOPED_TRACE(format("message {}, way {}", number, way));
    (this->*kWays[way])();
  }

  // Additions that were sent once each by a true client, and must have been counted once.
  [[nodiscard]] int64_t true_adds() const { return true_adds_; }

 private:
  // ---- without a greeting, or with a wrong one ----

  // What is shorter than a greeting is waited for.
  void noise() { expect_hung_up(knock(), bytes(kClientGreetingBytes + below(2000))); }

  void other_protocol() {
    static const std::array<std::string, 4> openings = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),  // TLS
        std::string("\xce\xf7\x85\x3c", 4)};                              // c10d's TCPStore
    expect_hung_up(knock(), openings.at(below(openings.size())) + bytes(kClientGreetingBytes));
  }

  void half_greeting() {
    const UniqueFd fd = knock();
    send_all(fd.get(), true_greeting(fd).substr(0, below(kClientGreetingBytes)), soon());
  }

  void wrong_greeting() {
    const UniqueFd fd = knock();
    expect_hung_up(fd, with_a_bit_flipped(true_greeting(fd)));
  }

  void old_greeting() {
    const UniqueFd other = knock();
    const std::string greeting = true_greeting(other);
    expect_hung_up(knock(), greeting);
  }

  void old_version() {
    const UniqueFd fd = knock();
    expect_hung_up(fd, "SHOALC1\n" + true_greeting(fd).substr(kClientMagic.size()));
  }

  void silence() { keep(knock()); }

  // ---- after a true greeting ----

  void changed_frame() {
    StoreLine line = greeted();
    const std::string frame = line.requests.seal(theft());
    const std::string changed = with_a_bit_flipped(frame);
    // A length that has become larger is waited for.
    const size_t length = message_bytes(changed);
    if (length > message_bytes(frame) && length < kTooLong) {
      send_all(line.fd.get(), changed, soon());
    } else {
      expect_hung_up(line.fd, changed);
    }
  }

  void frame_again() {
    StoreLine line = greeted();
    const std::string frame =
        line.requests.seal(StoreRequest{StoreOp::kAdd, {kTrueAdds}, {}, 1}.encode());
    send_all(line.fd.get(), frame, soon());
    ASSERT_TRUE(receive_message(line, soon()));
    ++true_adds_;
    expect_hung_up(line.fd, frame);
  }

  void later_frame() {
    StoreLine line = greeted();
    line.requests.seal(theft());
    expect_hung_up(line.fd, line.requests.seal(theft()));
  }

  void half_frame() {
    StoreLine line = greeted();
    const std::string frame = line.requests.seal(theft());
    send_all(line.fd.get(), frame.substr(0, below(frame.size())), soon());
    ::shutdown(line.fd.get(), SHUT_WR);
    expect_hung_up(line.fd, "");
  }

  void reflected_frame() {
    StoreLine line = greeted();
    expect_hung_up(line.fd, line.answers.seal(theft()));
  }

  void foreign_frame() {
    StoreLine one = greeted();
    StoreLine other = greeted();
    expect_hung_up(other.fd, one.requests.seal(theft()));
  }

  void huge_length() {
    const StoreLine line = greeted();
    expect_hung_up(line.fd,
                   below(2) == 0 ? "\xff\xff\xff\xff" : head_of(kTooLong + below(1 << 20)));
  }

  // By a client that is true and mistaken.
  void malformed_message() {
    StoreLine line = greeted();
    std::string message = theft();
    switch (below(4)) {
      case 0:
        message.resize(below(message.size()));
        break;
      case 1:
        message += bytes(1 + below(100));
        break;
      case 2:
        message.front() = static_cast<char>(10 + below(240));  // no such operation
        break;
      default:
        message.replace(1, sizeof(uint32_t), "\xff\xff\xff\x7f");  // so many keys
    }
    expect_hung_up(line.fd, line.requests.seal(message));
  }

  void two_at_once() {
    StoreLine line = greeted();
    const std::string question = StoreRequest{StoreOp::kCount, {}, {}}.encode();
    const std::string first = line.requests.seal(question);
    expect_hung_up(line.fd, first + line.requests.seal(theft()).substr(0, 1 + below(40)));
  }

  void slow_frame() {
    StoreLine line = greeted();
    send_all(line.fd.get(), head_of(8U << 20) + bytes(below(1000)), soon());
    keep(std::move(line.fd));
  }

  // ---- parts ----

  static Clock::time_point soon() { return Clock::now() + 20s; }

  static std::string theft() {
    return StoreRequest{StoreOp::kSet, {kTreasure, "new"}, {"stolen", "key"}}.encode();
  }

  static std::string head_of(size_t length) {
    WireWriter writer;
    writer.put_u32(static_cast<uint32_t>(length));
    return writer.bytes();
  }

  size_t below(size_t end) { return static_cast<size_t>(random_() % end); }

  std::string bytes(size_t size) {
    std::string result(size, '\0');
    for (char& byte : result) byte = static_cast<char>(random_());
    return result;
  }

  std::string with_a_bit_flipped(std::string text) {
    const size_t bit = below(8 * text.size());
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    return text;
  }

  UniqueFd knock() {
    UniqueFd fd = connect_to(store_, soon());
    EXPECT_TRUE(fd.valid());
    // Closing with a reset leaves no TIME_WAIT behind, or a host runs out of ports.
    const linger now = {1, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    return fd;
  }

  std::string true_greeting(const UniqueFd& fd) const {
    std::string greeting(kServerGreetingBytes, '\0');
    EXPECT_TRUE(receive_exactly(fd.get(), greeting.data(), greeting.size(), soon()));
    const std::string nonce = random_bytes(kNonceBytes);
    return std::string(kClientMagic) + nonce +
           client_proof(secret_, greeting.substr(kServerMagic.size()), nonce);
  }

  StoreLine greeted() {
    std::string reason;
    auto line = greet_store(knock(), secret_, soon(), reason);
    if (!line) throw PeerLost("a true greeting was not accepted: " + reason);
    return std::move(*line);
  }

  // Sends, and sees that the store hangs up.
  static void expect_hung_up(const UniqueFd& fd, const std::string& words) {
    send_all(fd.get(), words, soon());
    char answer = 0;
    const Clock::time_point deadline = soon();
    while (receive_exactly(fd.get(), &answer, 1, deadline)) {
    }
    EXPECT_NE(errno, ETIMEDOUT) << "the store did not hang up";
  }

  void keep(UniqueFd fd) { kept_[next_kept_++ % kept_.size()] = std::move(fd); }

  Endpoint store_;
  Secret secret_;
  std::mt19937_64 random_;
  std::array<UniqueFd, 32> kept_;
  size_t next_kept_ = 0;
  int64_t true_adds_ = 0;
};

std::vector<std::string> of_ranks(const std::string& what, int first, int count) {
  std::vector<std::string> keys;
  for (int rank = first; rank < first + count; ++rank) keys.push_back(format("{}/{}", what, rank));
  return keys;
}

// A rank of the job that uses the store: in step with its peer, until the strangers have left.
void work(const Membership& me, StoreClient& job, const Endpoint& endpoint, const Secret& secret) {
  StoreClient store = StoreClient::connect({{endpoint}, secret}, 30s);
  const int peer = kWorkers + 1 - me.rank;
  int64_t steps = 0;
  bool last = false;
  while (!last) {
    // Rank 1 looks whether the strangers have left, and rank 2 hears it from rank 1.
    const bool over = me.rank == 1 && job.check(of_ranks("over", kWorkers + 1, kStrangers));
    store.set(format("step/{}/{}", me.rank, steps),
              format("{}{}", 7 * steps + me.rank, over ? " and over" : ""));
    const std::string said = store.get(format("step/{}/{}", peer, steps), 60s);
    last = over || said == format("{} and over", 7 * steps + peer);
    ASSERT_TRUE(last || said == format("{}", 7 * steps + peer)) << said;
    // The peer is in this step, so it has read what was said in the one before.
    if (steps > 0) store.remove(format("step/{}/{}", me.rank, steps - 1));
    store.add("steps", 1);
    ++steps;
    if (steps == 1) job.set(format("works/{}", me.rank), "");
  }
  job.set(format("worked/{}", me.rank), format("{}", steps));
}

void disturb(const Membership& me,
             StoreClient& job,
             const Endpoint& endpoint,
             const Secret& secret) {
  int64_t true_adds = 0;
  job.wait({"begin"}, 60s);
  {
    Stranger stranger(endpoint, secret, static_cast<uint64_t>(me.rank));
    for (int64_t i = 0; i < messages_asked_for() / kStrangers; ++i) {
      stranger.send_one(i);
      if (::testing::Test::HasFailure()) break;
    }
    true_adds = stranger.true_adds();
  }
  job.set(format("over/{}", me.rank), format("{}", true_adds));
}

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

int64_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

int64_t sum_of(const std::vector<std::string>& numbers) {
  int64_t sum = 0;
  for (const std::string& number : numbers) sum += std::stoll(number);
  return sum;
}

void serve(StoreClient& job, const Secret& secret) {
  const StoreServer server({.address = "127.0.0.1", .ports = {0}, .secret = secret});
  StoreClient own = StoreClient::connect({{server.endpoint()}, secret}, 10s);
  own.set(kTreasure, "untouched");
  job.set("port", std::to_string(server.endpoint().port));
  job.wait(of_ranks("works", 1, kWorkers), 60s);
  const int64_t descriptors = open_descriptors();
  const double memory = resident_mib();
  const Clock::time_point began = Clock::now();
  job.set("begin", "");
  const int64_t true_adds = sum_of(job.get(of_ranks("over", kWorkers + 1, kStrangers), 1h));
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  const double memory_after = resident_mib();
  while (server.counts().clients > 1) std::this_thread::yield();  // the workers leave as well
  const int64_t steps = sum_of(job.get(of_ranks("worked", 1, kWorkers), 60s));
  std::cout << format(
      "{} messages in {:.1f} s ({:.0f} per second), {} connections turned away, {} clients "
      "dismissed; resident {:.1f} MiB before, {:.1f} MiB after; descriptors {} and {}; {} steps of "
      "the job\n",
      messages_asked_for(), seconds, static_cast<double>(messages_asked_for()) / seconds,
      server.counts().turned_away, server.counts().dismissed, memory, memory_after, descriptors,
      open_descriptors(), steps);
  EXPECT_EQ(own.get(kTreasure, 1s), "untouched");
  EXPECT_EQ(own.add(kTrueAdds, 0), true_adds);
  EXPECT_EQ(own.add("steps", 0), steps);
  // These three, and the last step of each worker.
  EXPECT_EQ(own.num_keys(), 3 + kWorkers);
  EXPECT_EQ(open_descriptors(), descriptors - kWorkers);
  // Sanitizers keep what was freed.
  const char* const sanitizer = std::getenv("SHOAL_SANITIZE");
  if (sanitizer == nullptr || *sanitizer == '\0') {
    EXPECT_LT(memory_after, memory + 32);
  }
  job.set("measured", "");
}

TEST(MalformedMessages, LeaveAWorkingJobAndItsStoreAsTheyWere) {
  tests::run_ranks(
      1 + kWorkers + kStrangers, [](const Membership& me, const Environment& environment) {
        Rendezvous meeting = meet(me, environment, {.patience = 60s});
        StoreClient& job = *meeting.store();
        const Secret secret = job_secret(environment, me.job).derive("disturbed store");
        if (me.rank == 0) {
          serve(job, secret);
        } else {
          const Endpoint endpoint{"127.0.0.1", std::stoi(job.get("port", 60s))};
          if (me.rank <= kWorkers)
            work(me, job, endpoint, secret);
          else
            disturb(me, job, endpoint, secret);
          job.wait({"measured"}, 60s);
        }
        meeting.leave(30s);
      });
}

}  // namespace
}  // namespace shoal::cluster

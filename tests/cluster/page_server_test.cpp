#include "shoal/cluster/page_server.h"

#include <array>
#include <random>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kGet = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

UniqueFd connect(const PageServer& server) {
  return connect_to(server.endpoint(), Clock::now() + 10s);
}

// Returns all that comes until the server closes; fails the test when it does not within a minute.
std::string rest_of(const UniqueFd& fd) {
  std::string all;
  while (true) {
    pollfd entry{fd.get(), POLLIN, 0};
    if (::poll(&entry, 1, 60'000) != 1) {
      ADD_FAILURE() << "the connection stays open";
      return all;
    }
    std::array<char, 4096> bytes{};
    const ssize_t got = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return all;
    all.append(bytes.data(), static_cast<size_t>(got));
  }
}

std::string answer_to(const PageServer& server, std::string_view request) {
  const UniqueFd fd = connect(server);
  send_all(fd.get(), request, Clock::now() + 10s);
  return rest_of(fd);
}

TEST(PageServer, AnswersOneRequestAndNoOther) {
  PageServer server({.path = "/metrics", .content_type = "text/odd"});
  server.show("loss 4\n");
  EXPECT_EQ(server.endpoint().address, "127.0.0.1");
  const std::string answer = answer_to(server, kGet);
  EXPECT_THAT(answer,
              StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/odd\r\nContent-Length: 7\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nloss 4\n"));
  server.show("loss 3\n");
  EXPECT_THAT(answer_to(server, kGet), EndsWith("loss 3\n"));

  const auto status = [&](std::string_view line) {
    return answer_to(server, std::string(line) + "\r\n\r\n").substr(0, 12);
  };
  for (const char* line : {"GET / HTTP/1.1", "GET /metrics/ HTTP/1.1", "GET /../metrics HTTP/1.0",
                           "GET /metrics?x HTTP/1.1", "GET  /metrics HTTP/1.1"})
    EXPECT_EQ(status(line), "HTTP/1.1 404") << line;
  for (const char* line :
       {"POST /metrics HTTP/1.1", "get /metrics HTTP/1.1", "HEAD /metrics HTTP/1.1"})
    EXPECT_EQ(status(line), "HTTP/1.1 405") << line;
  for (const char* line :
       {"", " ", "GET /metrics", "GET /metrics HTTP/2", "GET\t/metrics\tHTTP/1.1"})
    EXPECT_EQ(status(line), "HTTP/1.1 400") << line;
  EXPECT_EQ(answer_to(server, std::string(5000, 'x')).substr(0, 12), "HTTP/1.1 431");
  EXPECT_EQ(status("GET /metrics HTTP/1.1\r\nX: " + std::string(4096, 'x')), "HTTP/1.1 431");
}

TEST(PageServer, ATakenPortIsTold) {
  const PageServer first({.path = "/metrics"});
  const int port = first.endpoint().port;
  EXPECT_THAT(
      tests::error_text<UsageError>([&] { PageServer({.path = "/metrics", .port = port}); }),
      HasSubstr(format("port {} of 127.0.0.1 is taken", port)));
}

TEST(PageServer, WhoSaysNothingIsClosedAtTheDeadline) {
  const PageServer server({.path = "/metrics", .deadline = 50ms});
  EXPECT_EQ(answer_to(server, "GET /met"), "");
}

TEST(PageServer, WhoDoesNotReadIsClosedAtTheDeadline) {
  PageServer server({.path = "/metrics", .deadline = 200ms});
  server.show(std::string(size_t{64} << 20, 'x'));
  const UniqueFd fd = connect(server);
  send_all(fd.get(), kGet, Clock::now() + 10s);
  EXPECT_EQ(rest_of(connect(server)), "");  // one that came later is over: so is that before it
  EXPECT_LT(rest_of(fd).size(), size_t{64} << 20);
}

TEST(PageServer, TooManyConnectionsCloseTheOldest) {
  PageServer server({.path = "/metrics", .deadline = 1h, .max_connections = 3});
  server.show("up 1\n");
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect(server));
  EXPECT_THAT(answer_to(server, kGet), EndsWith("up 1\n"));
  EXPECT_EQ(rest_of(silent.front()), "");
}

// What a hostile client could send: any bytes, cut anywhere, in any number of pieces.
TEST(PageServer, MalformedRequestsLeaveItServing) {
  PageServer server({.path = "/metrics", .deadline = 20ms});
  server.show("up 1\n");
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  const auto below = [&random](size_t limit) { return random() % limit; };
  for (int i = 0; i < 3000; ++i) {
    std::string request = kGet;
    for (size_t changes = below(8); changes > 0; --changes)
      request[below(request.size())] = static_cast<char>(below(256));
    if (below(4) == 0) request.resize(below(request.size()));
    if (below(8) == 0) request.insert(below(request.size() + 1), std::string(below(9000), 'A'));
    const UniqueFd fd = connect(server);
    ASSERT_TRUE(fd.valid()) << i;
    send_all(fd.get(), request, Clock::now() + 1s);
    if (below(2) == 0) ::shutdown(fd.get(), SHUT_WR);
    if (below(16) == 0) rest_of(fd);
  }
  // On a busy host a request may come after the deadline.
  std::string answer;
  for (int i = 0; i < 500 && answer.empty(); ++i) answer = answer_to(server, kGet);
  EXPECT_THAT(answer, EndsWith("up 1\n"));
}

}  // namespace
}  // namespace shoal::cluster

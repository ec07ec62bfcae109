#include "shoal/cluster/page_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
// How long nobody is let in after a connection could not be accepted, such as for want of descriptors.
constexpr Duration kPause = std::chrono::milliseconds(100);
constexpr std::string_view kEndOfRequest = "\r\n\r\n";

struct Answer {
  const char* status;
  std::string body;
};

std::string response(const Answer& answer, const std::string& content_type) {
  return format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Allow: GET\r\nX-Content-Type-Options: nosniff\r\n\r\n{}",
      answer.status, content_type, answer.body.size(), answer.body);
}

struct Client {
  UniqueFd fd;
  Clock::time_point deadline;
  std::string request;
  std::string answer;  // what is left of it
  bool answered = false;
};

}  // namespace

class PageServer::Loop {
 public:
  Loop(PageServerOptions options, UniqueFd listener)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_.valid()) throw DataError(format("cannot make an event: {}", describe_errno(errno)));
  }

  void run() {
    while (true) {
      const std::vector<pollfd> ready = wait();
      if (ready[0].revents != 0) return;
      // Connections that are accepted now have no entry in `ready`, and stand behind those that have.
      const size_t count = ready.size() - 2;
      for (size_t i = 0; i < count; ++i)
        if (ready[i + 2].revents != 0) serve(connections_[i]);
      const auto now = Clock::now();
      std::erase_if(connections_,
                    [now](const Client& each) { return !each.fd.valid() || each.deadline <= now; });
      if (ready[1].revents != 0) accept_some();
    }
  }

  void stop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }

  void show(std::string page) {
    const std::lock_guard lock(mutex_);
    page_ = std::move(page);
  }

 private:
  std::vector<pollfd> wait() {
    std::vector<pollfd> entries = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    Clock::time_point until = Clock::now() + std::chrono::hours(1);
    if (paused_until_ > Clock::now()) {
      entries[1].fd = -1;  // poll() passes it over
      until = paused_until_;
    }
    for (const Client& each : connections_) {
      entries.push_back(
          {each.fd.get(), static_cast<short>(each.answer.empty() ? POLLIN : POLLOUT), 0});
      until = std::min(until, each.deadline);
    }
    const auto left = std::chrono::ceil<Duration>(until - Clock::now());
    const int ready = ::poll(entries.data(), entries.size(),
                             static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0) {
      for (pollfd& entry : entries) entry.revents = 0;
    }
    return entries;
  }

  // Not for ever: others may connect faster than this.
  void accept_some() {
    for (size_t i = 0; i < options_.max_connections; ++i) {
      UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd.valid()) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno != EAGAIN) paused_until_ = Clock::now() + kPause;
        return;
      }
      if (connections_.size() >= options_.max_connections) connections_.pop_front();
      connections_.push_back({.fd = std::move(fd), .deadline = Clock::now() + options_.deadline});
    }
  }

  void serve(Client& connection) {
    if (!connection.answer.empty()) return send(connection);
    std::array<char, 1024> bytes{};
    const ssize_t got = ::recv(connection.fd.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return connection.fd.reset();
    // What comes behind the answer is dropped, and the client closes: a reset could take the answer away from it.
    if (connection.answered) return;
    connection.request.append(bytes.data(), static_cast<size_t>(got));
    const size_t end = connection.request.find(kEndOfRequest);
    if (end == std::string::npos && connection.request.size() <= options_.max_request) return;
    const bool whole = end != std::string::npos && end <= options_.max_request;
    connection.answer =
        response(whole ? answer_to(connection.request.substr(0, connection.request.find("\r\n")))
                       : Answer{"431 Request Header Fields Too Large", "the request is too long\n"},
                 options_.content_type);
    connection.answered = true;
    connection.request = std::string();
    send(connection);
  }

  [[nodiscard]] Answer answer_to(std::string_view line) {
    const size_t method = line.find(' ');
    const size_t target = line.rfind(' ');
    if (method == std::string_view::npos || target == method ||
        !line.substr(target + 1).starts_with("HTTP/1."))
      return {"400 Bad Request", "this is no request of HTTP/1\n"};
    if (line.substr(0, method) != "GET")
      return {"405 Method Not Allowed", "only GET is answered\n"};
    if (line.substr(method + 1, target - method - 1) != options_.path)
      return {"404 Not Found", format("there is only {}\n", options_.path)};
    const std::lock_guard lock(mutex_);
    return {"200 OK", page_};
  }

  void send(Client& connection) {
    const ssize_t sent = ::send(connection.fd.get(), connection.answer.data(),
                                connection.answer.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) return connection.fd.reset();
    connection.answer.erase(0, static_cast<size_t>(sent));
    if (connection.answer.empty()) ::shutdown(connection.fd.get(), SHUT_WR);
  }

  const PageServerOptions options_;
  const UniqueFd listener_;
  const UniqueFd wake_;
  std::deque<Client> connections_;  // the oldest first
  Clock::time_point paused_until_;
  std::mutex mutex_;
  std::string page_;
};

PageServer::PageServer(PageServerOptions options) {
  UniqueFd listener = listen_on({kLoopback, options.port});
  if (!listener.valid())
    throw UsageError(format("port {} of {} is taken", options.port, kLoopback));
  endpoint_ = local_endpoint(listener.get());
  loop_ = std::make_unique<Loop>(std::move(options), std::move(listener));
  thread_ = std::thread([this] { loop_->run(); });
}

PageServer::~PageServer() {
  loop_->stop();
  thread_.join();
}

void PageServer::show(std::string page) { loop_->show(std::move(page)); }

}  // namespace shoal::cluster

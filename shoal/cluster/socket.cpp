#include "shoal/cluster/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const Endpoint& endpoint) {
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  if (::inet_pton(AF_INET, endpoint.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(endpoint.port));
    result.length = sizeof(*v4);
  } else if (::inet_pton(AF_INET6, endpoint.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(endpoint.port));
    result.length = sizeof(*v6);
  } else {
    throw BugError(format("'{}' is not a numeric address", endpoint.address));
  }
  return result;
}

constexpr int kProbes = 4;

void set_option(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

void switch_on(int fd, int level, int option) { set_option(fd, level, option, 1); }

// Waits until the socket is ready for `events`; false when the deadline passes first.
bool wait_ready(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now());
    pollfd entry{fd, events, 0};
    const int wait_ms = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
    const int ready = ::poll(&entry, 1, wait_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (Clock::now() >= deadline) {
      errno = ETIMEDOUT;
      return false;
    }
  }
}

}  // namespace

std::string Endpoint::text() const {
  const bool v6 = address.find(':') != std::string::npos;
  return v6 ? format("[{}]:{}", address, port) : format("{}:{}", address, port);
}

UniqueFd listen_on(const Endpoint& endpoint) {
  const SocketAddress address = to_socket_address(endpoint);
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) throw PeerLost(format("cannot make a socket: {}", describe_errno(errno)));
  switch_on(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  const bool listening =
      ::bind(fd.get(), address.get(), address.length) == 0 && ::listen(fd.get(), SOMAXCONN) == 0;
  if (listening) return fd;
  if (errno == EADDRINUSE || errno == EACCES) return {};
  throw PeerLost(format("cannot listen on {}: {}", endpoint.text(), describe_errno(errno)));
}

UniqueFd connect_to(const Endpoint& endpoint, Clock::time_point deadline) {
  const SocketAddress address = to_socket_address(endpoint);
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  switch_on(fd.get(), IPPROTO_TCP, TCP_NODELAY);
  if (::connect(fd.get(), address.get(), address.length) == 0) return fd;
  if (errno != EINPROGRESS || !wait_ready(fd.get(), POLLOUT, deadline)) return {};
  int error_number = 0;
  socklen_t length = sizeof(error_number);
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error_number, &length);
  if (error_number == 0) return fd;
  fd.reset();
  errno = error_number;
  return fd;
}

bool send_all(int fd, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_ready(fd, POLLOUT, deadline)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

size_t receive_up_to(int fd, char* into, size_t count, Clock::time_point deadline) {
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = ::recv(fd, into + filled, count - filled, 0);
    if (got > 0) {
      filled += static_cast<size_t>(got);
    } else if (got == 0) {
      errno = ECONNRESET;
      break;
    } else if (errno == EAGAIN) {
      if (!wait_ready(fd, POLLIN, deadline)) break;
    } else if (errno != EINTR) {
      if (errno == ETIMEDOUT) errno = ECONNRESET;  // keep_alive(): nothing more will come
      break;
    }
  }
  return filled;
}

bool receive_exactly(int fd, char* into, size_t count, Clock::time_point deadline) {
  return receive_up_to(fd, into, count, deadline) == count;
}

// Probes begin after half of the time; the rest is for several, because one may get lost.
void keep_alive(int fd, Duration silence) {
  const auto seconds = [](Duration time) {
    return std::max(static_cast<int>(std::chrono::ceil<std::chrono::seconds>(time).count()), 1);
  };
  switch_on(fd, SOL_SOCKET, SO_KEEPALIVE);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(silence / 2));
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(silence / (2 * kProbes)));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
}

Endpoint local_endpoint(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  std::string text(INET6_ADDRSTRLEN, '\0');
  int port = 0;
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), INET6_ADDRSTRLEN);
    port = ntohs(v4->sin_port);
  } else {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), INET6_ADDRSTRLEN);
    port = ntohs(v6->sin6_port);
  }
  text.resize(std::strlen(text.c_str()));
  return {text, port};
}

}  // namespace shoal::cluster

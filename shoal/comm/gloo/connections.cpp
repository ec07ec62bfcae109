#include "shoal/comm/gloo/connections.h"

#include <algorithm>
#include <optional>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shoal/cluster/socket.h"
#include "shoal/comm/gloo/listener.h"

namespace shoal::comm {
namespace {

// Returns the port of the other end; nothing when the socket is not connected.
std::optional<int> peer_port(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof(peer);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return std::nullopt;
  if (peer.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(peer).sin_port);
  if (peer.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(peer).sin6_port);
  return std::nullopt;
}

}  // namespace

std::set<Connection> open_connections(int store_port) {
  std::set<Connection> found;
  for (const int fd : open_descriptors()) {
    const std::optional<int> port = peer_port(fd);
    if (port && *port != store_port && cluster::local_endpoint(fd).port != store_port)
      found.emplace(fd, inode_of(fd));
  }
  return found;
}

bool any_is_lost(const std::set<Connection>& connections) {
  return std::any_of(connections.begin(), connections.end(), [](const Connection& connection) {
    pollfd look{.fd = connection.first, .events = POLLRDHUP, .revents = 0};
    return inode_of(connection.first) != connection.second ||
           (::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
  });
}

void shut_down(const std::set<Connection>& connections) {
  for (const auto& [fd, inode] : connections) {
    if (inode_of(fd) == inode) ::shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace shoal::comm

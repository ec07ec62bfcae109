#include "shoal/comm/gloo/connections.h"

#include <optional>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shoal/cluster/socket.h"
#include "shoal/comm/gloo/listener.h"

namespace shoal::comm {
namespace {

ino_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

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

void shut_down(const std::set<Connection>& connections) {
  for (const auto& [fd, inode] : connections) {
    if (inode_of(fd) == inode) ::shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace shoal::comm

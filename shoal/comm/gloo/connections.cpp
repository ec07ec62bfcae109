#include "shoal/comm/gloo/connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shoal/comm/gloo/listener.h"

namespace shoal::comm {
namespace {

ino_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

bool is_connected(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof(peer);
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
         (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
}

}  // namespace

std::set<Connection> open_connections() {
  std::set<Connection> found;
  for (const int fd : open_descriptors()) {
    if (is_connected(fd)) found.emplace(fd, inode_of(fd));
  }
  return found;
}

void shut_down(const std::set<Connection>& connections) {
  for (const auto& [fd, inode] : connections) {
    if (inode_of(fd) == inode) ::shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace shoal::comm

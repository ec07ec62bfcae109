#include "shoal/comm/gloo/listener.h"

#include <filesystem>

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shoal/cluster/socket.h"
#include "shoal/core/log.h"
#include "shoal/core/number_in.h"

namespace shoal::comm {
namespace {

bool is_listening(int fd) {
  int accepts = 0;
  socklen_t length = sizeof(accepts);
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0 && accepts != 0;
}

}  // namespace

std::vector<int> open_descriptors() {
  std::vector<int> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    if (const auto fd = number_in<int>(entry.path().filename().string())) found.push_back(*fd);
  }
  return found;
}

ino_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

std::map<int, ino_t> listening_descriptors(const std::string& address) {
  std::map<int, ino_t> found;
  for (const int fd : open_descriptors()) {
    if (is_listening(fd) && cluster::local_endpoint(fd).address == address)
      found.emplace(fd, inode_of(fd));
  }
  return found;
}

void refuse_new_connections(const std::vector<int>& listeners) {
  sock_filter drop = {BPF_RET | BPF_K, 0, 0, 0};  // keep 0 bytes of every packet
  const sock_fprog program = {1, &drop};
  for (const int fd : listeners) {
    if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0) {
      log::debug("the listener {} stays open to new connections", fd);
    }
  }
}

void accept_new_connections(const std::vector<int>& listeners) {
  const int unused = 0;
  for (const int fd : listeners)
    ::setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

}  // namespace shoal::comm

// listener.h -- closes Gloo's listener to new connections. Private to comm/gloo/.
//
// Gloo's listener accepts any connection and keeps it, so a stranger could exhaust the process's
// descriptors. Once all groups are connected no new connection is legitimate: a socket filter then
// drops every packet that would open one. Established connections are other sockets and notice
// nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace shoal::comm {

std::vector<int> open_descriptors();  // of this process

// Returns the inode of a socket; 0 when the descriptor is none.
ino_t inode_of(int fd);

// Returns the descriptors of this process that listen on `address`, and their inodes.
std::map<int, ino_t> listening_descriptors(const std::string& address);

void refuse_new_connections(const std::vector<int>& listeners);
void accept_new_connections(const std::vector<int>& listeners);

}  // namespace shoal::comm

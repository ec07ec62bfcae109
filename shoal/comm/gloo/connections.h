// connections.h -- the connections of Gloo's groups, to break them off. Private to comm/gloo/.
//
// Gloo has no call that ends a group while others wait in it. When a rank has lost a peer, its other
// peers may wait for it in other groups, and threads of its own for them: shutting the sockets down
// ends that, on both sides, with the error that Gloo reports for a lost peer. Messages that are half
// sent or half received are not told of it: whoever waits for them has to look (comm/pending.cpp).
#pragma once

#include <set>
#include <utility>

#include <sys/types.h>

namespace shoal::comm {

// A descriptor, and the inode that tells whether it is still the same socket.
using Connection = std::pair<int, ino_t>;

// Returns the connected sockets of this process, without those of the job's store, whose port this is.
std::set<Connection> open_connections(int store_port);

// Returns whether the other end of one of them has ended it, or this end was closed because of that.
bool any_is_lost(const std::set<Connection>& connections);

// Shuts down those that are still open.
void shut_down(const std::set<Connection>& connections);

}  // namespace shoal::comm

// listener.h -- shuts the door behind Gloo. Private to comm/gloo/.
//
// Gloo's listener accepts whoever connects and keeps the connection, so a stranger could exhaust
// the process's descriptors. Once all groups are connected nobody has business there any more: a
// socket filter then drops every packet that would open a connection. Established connections are
// other sockets and notice nothing.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace shoal::comm {

// The descriptors of this process that listen on `address`.
std::set<int> listening_descriptors(const std::string& address);

void refuse_new_connections(const std::vector<int>& listeners);
void accept_new_connections(const std::vector<int>& listeners);

}  // namespace shoal::comm

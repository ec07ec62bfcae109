// socket.h -- TCP with deadlines. Every wait ends: by success, by the peer, or by the deadline.
#pragma once

#include <string>
#include <string_view>

#include "shoal/core/files.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

struct Endpoint {
  std::string address;  // numeric
  int port = 0;

  [[nodiscard]] std::string text() const;  // "10.0.0.1:2345", "[fd00::1]:2345"
};

// Returns a non-blocking listener on exactly this address; port 0 takes a free one. The result is
// not valid() when the port is taken. Throws PeerLost when the address cannot be listened on at
// all.
UniqueFd listen_on(const Endpoint& endpoint);

// Returns a connected socket; not valid() when the peer refuses or the deadline passes, and errno
// tells which.
UniqueFd connect_to(const Endpoint& endpoint, Clock::time_point deadline);

// Return whether all bytes were sent (received) before the deadline and the end of the connection.
bool send_all(int fd, std::string_view bytes, Clock::time_point deadline);
bool receive_exactly(int fd, char* into, size_t count, Clock::time_point deadline);
// Returns how many bytes came; errno tells why they are fewer than `count`.
size_t receive_up_to(int fd, char* into, size_t count, Clock::time_point deadline);

// For connections whose users do not know better.
constexpr Duration kLostAfter = std::chrono::minutes(1);

// Has the kernel ask a peer that says nothing whether its host is still there, and end the connection
// after `silence` without an answer, or with what was sent not received.
void keep_alive(int fd, Duration silence);

Endpoint local_endpoint(int fd);

}  // namespace shoal::cluster

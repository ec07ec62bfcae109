// address.h -- the network addresses of this host, and the one a job should use.
//
// Addresses are numeric text ("10.77.0.1", "fd00::1"); names are resolved once, here. Nothing in
// shoal listens on a wildcard: every listener is given one address that was chosen in this file.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shoal::cluster {

struct Interface {
  std::string name;
  std::string address;
};

// Returns the addresses of the interfaces that are up, IPv4 before IPv6, without link-local ones.
std::vector<Interface> local_interfaces();

bool is_loopback(const std::string& address);
bool is_local(const std::string& address);

// Returns the numeric addresses of a host name or address, in the system's order; empty when it
// does not resolve.
std::vector<std::string> resolve(const std::string& host);

// Returns the local address that packets to `peer` leave from, which is the one the peer can reach.
std::optional<std::string> address_towards(const std::string& peer);

// Returns the address of an interface given by name, or the address itself. Throws UsageError if
// this host has neither.
std::string address_of_interface(const std::string& name_or_address);

std::string host_name();

}  // namespace shoal::cluster

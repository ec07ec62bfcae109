#include "shoal/cluster/address.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::cluster {
namespace {

std::string to_text(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  return host.data();
}

socklen_t length_of(const sockaddr* address) {
  return address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList look_up(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

}  // namespace

std::vector<Interface> local_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<Interface> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      const sockaddr* address = entry->ifa_addr;
      if (address == nullptr || address->sa_family != family || (entry->ifa_flags & IFF_UP) == 0)
        continue;
      if (is_link_local(address)) continue;
      found.push_back({entry->ifa_name, to_text(address, length_of(address))});
    }
  }
  return found;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

bool is_local(const std::string& address) {
  if (is_loopback(address)) return true;
  const std::vector<Interface> interfaces = local_interfaces();
  return std::any_of(interfaces.begin(), interfaces.end(),
                     [&](const Interface& interface) { return interface.address == address; });
}

std::vector<std::string> resolve(const std::string& host) {
  if (host.empty()) return {};
  const AddressList list = look_up(host, 0);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    std::string text = to_text(entry->ai_addr, entry->ai_addrlen);
    const bool known = std::find(addresses.begin(), addresses.end(), text) != addresses.end();
    if (!text.empty() && !known) addresses.push_back(std::move(text));
  }
  return addresses;
}

std::optional<std::string> address_towards(const std::string& peer) {
  const AddressList list = look_up(peer, 0);
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    // Connecting a datagram socket sends nothing: it only makes the kernel choose the route.
    const UniqueFd fd(::socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd.valid() || ::connect(fd.get(), entry->ai_addr, entry->ai_addrlen) != 0) continue;
    sockaddr_storage local{};
    socklen_t length = sizeof(local);
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) continue;
    std::string text = to_text(reinterpret_cast<const sockaddr*>(&local), length);
    if (!text.empty()) return text;
  }
  return std::nullopt;
}

std::string address_of_interface(const std::string& name_or_address) {
  const std::vector<Interface> interfaces = local_interfaces();
  std::string known;
  for (const Interface& interface : interfaces) {
    if (interface.name == name_or_address || interface.address == name_or_address)
      return interface.address;
    known += format("{}{} ({})", known.empty() ? "" : ", ", interface.name, interface.address);
  }
  throw UsageError(
      format("comm.interface is '{}', but host {} has no such interface or address that is up: "
             "choose one of {}",
             name_or_address, host_name(), known));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace shoal::cluster

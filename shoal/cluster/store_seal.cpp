#include "shoal/cluster/store_seal.h"

#include <cstring>

#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

template <class Number>
std::string_view bytes_of(const Number& value) {  // every supported host is little-endian
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

StoreSeal::StoreSeal(const Secret& secret,
                     StoreDirection direction,
                     std::string_view server_nonce,
                     std::string_view client_nonce)
    : key_(secret.derive("shoal store frames" + std::string(server_nonce) +
                         std::string(client_nonce))),
      direction_(direction) {}

std::string StoreSeal::mac(std::string_view head_and_message) const {
  return key_.fast_mac({bytes_of(direction_), bytes_of(next_), head_and_message});
}

std::string StoreSeal::seal(std::string_view message) {
  SHOAL_CHECK(message.size() <= UINT32_MAX, "a message of {} bytes", message.size());
  const auto length = static_cast<uint32_t>(message.size());
  std::string frame;
  frame.reserve(frame_bytes(message.size()));
  frame += bytes_of(length);
  frame += message;
  frame += mac(frame);
  ++next_;
  return frame;
}

std::optional<std::string_view> StoreSeal::open(std::string_view frame) {
  if (frame.size() < frame_bytes(0) || frame.size() != frame_bytes(message_bytes(frame)))
    return std::nullopt;
  const std::string_view sealed = frame.substr(0, frame.size() - kMacBytes);
  if (!equal_in_constant_time(frame.substr(sealed.size()), mac(sealed))) return std::nullopt;
  ++next_;
  return sealed.substr(kFrameHeadBytes);
}

size_t message_bytes(std::string_view frame) {
  uint32_t length = 0;
  SHOAL_CHECK(frame.size() >= kFrameHeadBytes, "half a head of {} bytes", frame.size());
  std::memcpy(&length, frame.data(), sizeof(length));
  return length;
}

}  // namespace shoal::cluster

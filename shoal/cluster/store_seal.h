// store_seal.h -- the MAC on every message between the store and a client, after the greeting.
//
//   StoreSeal requests(secret, StoreDirection::kRequests, server_nonce, client_nonce);
//   send_all(fd, requests.seal(request.encode()), deadline);   // the client
//   const auto message = requests.open(frame);                 // the store, with a seal of its own
//
// A frame is the message's length, the message and a MAC over the direction, the number of the
// frame in its direction, and the frame. The key follows from the job's secret and both nonces of
// the greeting, so no frame fits another connection, another direction or another place in the
// order. Each side holds one seal per direction, which counts. Nothing is encrypted. docs/store.md
// describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/cluster/secret.h"

namespace shoal::cluster {

constexpr size_t kFrameHeadBytes = sizeof(uint32_t);  // the length of the message

// The values enter the MAC: never renumber.
enum class StoreDirection : uint8_t { kRequests = 1, kAnswers = 2 };

class StoreSeal {
 public:
  StoreSeal(const Secret& secret,
            StoreDirection direction,
            std::string_view server_nonce,
            std::string_view client_nonce);

  // Returns the next frame of this direction, ready to send.
  std::string seal(std::string_view message);

  // Returns the message in a whole frame, or nothing unless it is, to the bit, the frame that the
  // peer sealed next. A connection that brought anything else can only be closed.
  std::optional<std::string_view> open(std::string_view frame);

 private:
  [[nodiscard]] std::string mac(std::string_view head_and_message) const;

  Secret key_;
  StoreDirection direction_;
  uint64_t next_ = 0;
};

// Returns the length of the message in a frame of which at least the head is there.
size_t message_bytes(std::string_view frame);

// Returns the size of a whole frame with a message of that length.
constexpr size_t frame_bytes(size_t message) { return kFrameHeadBytes + message + kMacBytes; }

}  // namespace shoal::cluster

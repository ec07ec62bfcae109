// store_peer.h -- the store's half of a connection, without the socket: what a client has sent so
// far, first as a greeting and then as one sealed request at a time.
//
//   StorePeer peer;
//   send_all(fd, peer.greeting(), deadline);
//   peer.hear(bytes);                                     // at most room() of them
//   if (peer.knows(secret)) send_all(fd, peer.admit(secret), deadline);
//   peer.hear(more);
//   const StorePeer::Heard heard = peer.next(max_bytes);  // a request, a fault, or neither yet
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shoal/cluster/secret.h"
#include "shoal/cluster/store_protocol.h"
#include "shoal/cluster/store_seal.h"

namespace shoal::cluster {

class StorePeer {
 public:
  StorePeer() : nonce_(random_bytes(kNonceBytes)) {}

  // Returns what the store says first.
  [[nodiscard]] std::string greeting() const { return std::string(kServerMagic) + nonce_; }

  // Returns how many bytes may be received now, at most `most`. A stranger may send its greeting and
  // nothing more; what else it sends is never read.
  [[nodiscard]] size_t room(size_t most) const;
  void hear(std::string_view bytes) { in_ += bytes; }

  [[nodiscard]] bool has_greeted() const {
    return admitted() || in_.size() >= kClientGreetingBytes;
  }
  [[nodiscard]] bool knows(const Secret& secret) const;  // once it has greeted
  std::string admit(const Secret& secret);  // returns the store's own proof; messages follow
  [[nodiscard]] bool admitted() const { return requests_.has_value(); }

  struct Heard {
    std::optional<StoreRequest> request;
    const char* fault = nullptr;  // what the client did: its connection has to be closed
  };

  // Takes the request that has arrived, of at most `max_bytes`; nothing while it is not whole.
  Heard next(size_t max_bytes);

  std::string seal(const StoreAnswer& answer) { return answers_->seal(answer.encode()); }

 private:
  [[nodiscard]] std::string_view client_nonce() const;

  std::string nonce_;
  std::string in_;
  std::optional<StoreSeal> requests_;
  std::optional<StoreSeal> answers_;
};

}  // namespace shoal::cluster

#include "shoal/cluster/store_peer.h"

#include "shoal/core/error.h"

namespace shoal::cluster {

size_t StorePeer::room(size_t most) const {
  return admitted() ? most : kClientGreetingBytes - in_.size();
}

std::string_view StorePeer::client_nonce() const {
  SHOAL_CHECK(in_.size() == kClientGreetingBytes, "half a greeting");
  return std::string_view(in_).substr(kClientMagic.size(), kNonceBytes);
}

bool StorePeer::knows(const Secret& secret) const {
  const std::string_view proof = std::string_view(in_).substr(kClientMagic.size() + kNonceBytes);
  return in_.starts_with(kClientMagic) &&
         equal_in_constant_time(proof, client_proof(secret, nonce_, client_nonce()));
}

std::string StorePeer::admit(const Secret& secret) {
  requests_.emplace(secret, StoreDirection::kRequests, nonce_, client_nonce());
  answers_.emplace(secret, StoreDirection::kAnswers, nonce_, client_nonce());
  std::string proof = server_proof(secret, nonce_, client_nonce());
  in_.clear();
  return proof;
}

StorePeer::Heard StorePeer::next(size_t max_bytes) {
  if (in_.size() < kFrameHeadBytes) return {};
  const size_t length = message_bytes(in_);
  if (length > max_bytes) return {{}, "announced too long a message"};
  if (in_.size() < frame_bytes(length)) return {};
  // One at a time, which also bounds what a client can make the store hold.
  if (in_.size() > frame_bytes(length)) return {{}, "sent two requests at once"};
  const auto message = requests_->open(in_);
  if (!message) return {{}, "sent a message with a wrong MAC: see who else is on the network"};
  Heard heard{StoreRequest::decode(*message)};
  if (!heard.request) heard.fault = "sent a malformed message";
  in_.clear();
  return heard;
}

}  // namespace shoal::cluster

#include "shoal/core/digest.h"

#include <sodium.h>

namespace shoal {

struct Sha256::State {
  crypto_hash_sha256_state sha{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) { crypto_hash_sha256_init(&state_->sha); }

Sha256::Sha256(Sha256&&) noexcept = default;

Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  crypto_hash_sha256_update(&state_->sha, reinterpret_cast<const unsigned char*>(bytes.data()),
                            bytes.size());
}

void Sha256::add_number(uint64_t number) {
  std::array<char, sizeof(number)> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  add({bytes.data(), bytes.size()});
}

std::string Sha256::hex() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&state_->sha, digest.data());
  std::string text(2 * digest.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  text.pop_back();
  return text;
}

}  // namespace shoal

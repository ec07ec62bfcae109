#include "shoal/core/checksum.h"

#include <new>

#include <xxhash.h>

#include <isa-l/crc.h>

#include "shoal/core/format.h"

namespace shoal {

uint32_t crc32c(std::string_view bytes, uint32_t before) {
  // ISA-L neither inverts its state nor promises not to write, and counts in int.
  constexpr size_t kMaxPiece = size_t{1} << 30;
  uint32_t state = ~before;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMaxPiece);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(piece.data()));
    state = crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes.remove_prefix(piece.size());
  }
  return ~state;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  return crc32c(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                before);
}

uint64_t xxh3_64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string Hash128::hex() const { return format("{:016x}{:016x}", high, low); }

Hash128 xxh3_128(std::string_view bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}

struct Xxh3Stream::State {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> xxh3{XXH3_createState(), XXH3_freeState};
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) {
  if (!state_->xxh3) throw std::bad_alloc();
  restart();
}
Xxh3Stream::Xxh3Stream(Xxh3Stream&&) noexcept = default;
Xxh3Stream& Xxh3Stream::operator=(Xxh3Stream&&) noexcept = default;
Xxh3Stream::~Xxh3Stream() = default;

void Xxh3Stream::restart(uint64_t seed) { XXH3_128bits_reset_withSeed(state_->xxh3.get(), seed); }

void Xxh3Stream::add(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh3.get(), bytes.data(), bytes.size());
}

Hash128 Xxh3Stream::hash() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh3.get());
  return {hash.low64, hash.high64};
}

}  // namespace shoal

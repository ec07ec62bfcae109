// checksum.h -- CRC32C guards bytes on disk and on the wire; XXH3 names content.
//
// Neither resists an attacker: what must be proven to come from a peer carries a MAC
// (cluster/secret.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shoal {

// Returns the CRC32C (Castagnoli). `before` is the value of the preceding bytes: crc32c("ab") ==
// crc32c("b", crc32c("a")).
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

uint64_t xxh3_64(std::string_view bytes);

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const Hash128&) const = default;
  [[nodiscard]] std::string hex() const;  // 32 digits, high half first
};

Hash128 xxh3_128(std::string_view bytes, uint64_t seed = 0);

// The xxh3_128() of bytes that come in pieces.
class Xxh3Stream {
 public:
  Xxh3Stream();
  Xxh3Stream(Xxh3Stream&&) noexcept;
  Xxh3Stream& operator=(Xxh3Stream&&) noexcept;
  ~Xxh3Stream();

  void restart(uint64_t seed = 0);  // with no bytes, as after construction
  void add(std::string_view bytes);
  [[nodiscard]] Hash128 hash() const;  // of the bytes so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shoal

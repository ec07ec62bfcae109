// secret.h -- the key that only the ranks of one job know.
//
// A process that knows a job's secret may join its store; others get no further than a greeting.
// Secrets are 256 bits, wiped from memory when dropped, and never printed or logged.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "shoal/cluster/environment.h"

namespace shoal::cluster {

constexpr size_t kSecretBytes = 32;
constexpr size_t kMacBytes = 32;
constexpr size_t kNonceBytes = 32;

class Secret {
 public:
  static Secret random();
  static Secret from_hex(std::string_view hex);  // throws UsageError unless 64 hex digits

  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  [[nodiscard]] std::string hex() const;  // only to hand it to a child process

  // Returns a secret for one purpose or one job, from which this one cannot be computed.
  [[nodiscard]] Secret derive(std::string_view label) const;

  // Returns the HMAC-SHA-256 over the parts; each part's length is included, so that no two lists
  // of parts collide.
  [[nodiscard]] std::string mac(std::initializer_list<std::string_view> parts) const;

  // The same with keyed BLAKE2b-256, in a third of the time: for the messages of a connection, of
  // which there are many. A secret is the key of one of the two, never of both.
  [[nodiscard]] std::string fast_mac(std::initializer_list<std::string_view> parts) const;

 private:
  Secret() = default;

  std::array<uint8_t, kSecretBytes> bytes_{};
};

// Compares two MACs in constant time, so that the duration does not tell where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

std::string random_bytes(size_t count);

// Returns the secret of `job`: SHOAL_JOB_SECRET if set (`shoal launch` sets it), else derived for
// this job from the key in SHOAL_SECRET_FILE, else from the user's own key in ~/.config/shoal/key,
// which is created on first use with mode 0600. So ranks on hosts with a shared home directory
// agree without being told anything. Throws UsageError for a key file that others may read or
// write.
Secret job_secret(const Environment& environment, const std::string& job);

// Returns the secret in a key file, which is created if `create` is set and it does not exist.
// Throws UsageError for a file that others may read or write.
Secret secret_from_file(const std::filesystem::path& path, bool create);

}  // namespace shoal::cluster

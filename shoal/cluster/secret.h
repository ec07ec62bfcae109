// secret.h -- the key that only the ranks of one job know.
//
// Whoever knows a job's secret may join its store; nobody else gets further than a greeting.
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
  static Secret from_hex(std::string_view hex);  // UsageError unless 64 hex digits

  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  [[nodiscard]] std::string hex() const;  // to hand it to a child process, for nothing else

  // A secret of its own for one purpose or one job: nobody can compute back from it.
  [[nodiscard]] Secret derive(std::string_view label) const;

  // HMAC-SHA-256 over the parts; each part's length is included, so that no two lists of parts
  // collide.
  [[nodiscard]] std::string mac(std::initializer_list<std::string_view> parts) const;

 private:
  Secret() = default;

  std::array<uint8_t, kSecretBytes> bytes_{};
};

// Compares without telling by its duration where two MACs differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

std::string random_bytes(size_t count);

// The secret of `job`: SHOAL_JOB_SECRET if set (`shoal launch` sets it), else derived for this job
// from the key in SHOAL_SECRET_FILE, else from the user's own key in ~/.config/shoal/key, which is
// created on first use with mode 0600. Ranks on hosts with a shared home directory thus agree
// without being told anything. A key file that others may read or write is refused with a
// UsageError.
Secret job_secret(const Environment& environment, const std::string& job);

// The same for a given key file, created when `create` is set and it does not exist.
Secret secret_from_file(const std::filesystem::path& path, bool create);

}  // namespace shoal::cluster

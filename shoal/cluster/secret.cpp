#include "shoal/cluster/secret.h"

#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPrivateMode = 0600;

void start_sodium() {
  // Idempotent and thread-safe; fails only where the system has no source of randomness.
  if (sodium_init() < 0)
    throw DataError("this system gives no random bytes, which the job's secret needs");
}

void require_private(const fs::path& path, bool create) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    throw UsageError(
        format("the key file {} cannot be read: {}", path.string(), describe_errno(errno)));
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    throw UsageError(format(
        "the key file {} must be a regular file of your own that nobody else can read or write: "
        "chmod 600 it{}",
        path.string(), create ? ", or remove it to have a new one made" : ""));
  }
}

// Does nothing when the file is there.
void make_key_file(const fs::path& path) {
  std::string reason;
  try {
    if (fs::exists(path)) return;
    fs::create_directories(path.parent_path());
    create_file_once(path, Secret::random().hex() + "\n", kPrivateMode);
    return;
  } catch (const fs::filesystem_error& e) {
    reason = e.code().message();
  } catch (const DataError& e) {
    reason = e.what();
  }
  throw UsageError(format(
      "your key {} cannot be made ({}): set SHOAL_SECRET_FILE to a file of your own with mode "
      "600 that every rank can read, holding {} hexadecimal digits",
      path.string(), reason, 2 * kSecretBytes));
}

fs::path user_key_path(const Environment& env) {
  if (const auto config = env.get("XDG_CONFIG_HOME")) return fs::path(*config) / "shoal" / "key";
  if (const auto home = env.get("HOME")) return fs::path(*home) / ".config" / "shoal" / "key";
  throw UsageError(
      "neither SHOAL_JOB_SECRET, SHOAL_SECRET_FILE nor HOME is set, so the ranks have no way to "
      "agree on a secret: set SHOAL_SECRET_FILE to a file that all of them can read");
}

}  // namespace

Secret Secret::random() {
  start_sodium();
  Secret secret;
  randombytes_buf(secret.bytes_.data(), secret.bytes_.size());
  return secret;
}

Secret Secret::from_hex(std::string_view hex) {
  Secret secret;
  size_t length = 0;
  const char* end = nullptr;
  const int failed = sodium_hex2bin(secret.bytes_.data(), secret.bytes_.size(), hex.data(),
                                    hex.size(), nullptr, &length, &end);
  if (failed != 0 || length != kSecretBytes || end != hex.data() + hex.size()) {
    // Its text is not shown: it may be nearly right.
    throw UsageError(
        format("a secret is {} hexadecimal digits and nothing else, not these {} characters",
               2 * kSecretBytes, hex.size()));
  }
  return secret;
}

Secret::~Secret() { sodium_memzero(bytes_.data(), bytes_.size()); }

std::string Secret::hex() const {
  std::string text(2 * kSecretBytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes_.data(), bytes_.size());
  text.pop_back();
  return text;
}

Secret Secret::derive(std::string_view label) const {
  const std::string digest = mac({"derive", label});
  Secret derived;
  std::copy(digest.begin(), digest.end(), derived.bytes_.begin());
  return derived;
}

std::string Secret::mac(std::initializer_list<std::string_view> parts) const {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_.data(), bytes_.size());
  for (const std::string_view part : parts) {
    const uint64_t size = part.size();
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(&size),
                                  sizeof(size));
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                                  part.size());
  }
  std::string digest(kMacBytes, '\0');
  static_assert(kMacBytes == crypto_auth_hmacsha256_BYTES);
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string Secret::fast_mac(std::initializer_list<std::string_view> parts) const {
  crypto_generichash_state state;
  crypto_generichash_init(&state, bytes_.data(), bytes_.size(), kMacBytes);
  for (const std::string_view part : parts) {
    const uint64_t size = part.size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof(size));
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
  }
  std::string digest(kMacBytes, '\0');
  static_assert(kMacBytes == crypto_generichash_BYTES &&
                kSecretBytes == crypto_generichash_KEYBYTES);
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(digest.data()), digest.size());
  return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(size_t count) {
  start_sodium();
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

Secret secret_from_file(const fs::path& path, bool create) {
  if (create) make_key_file(path);
  require_private(path, create);
  std::string text = read_file(path, 4096);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  try {
    return Secret::from_hex(text);
  } catch (const UsageError& e) {
    throw UsageError(format("the key file {} is damaged: {}", path.string(), e.what()));
  }
}

Secret job_secret(const Environment& env, const std::string& job) {
  if (const auto hex = env.get("SHOAL_JOB_SECRET")) {
    try {
      return Secret::from_hex(*hex);
    } catch (const UsageError& e) {
      throw UsageError(format("environment variable SHOAL_JOB_SECRET: {}", e.what()));
    }
  }
  if (const auto file = env.get("SHOAL_SECRET_FILE"))
    return secret_from_file(*file, false).derive(job);
  return secret_from_file(user_key_path(env), true).derive(job);
}

}  // namespace shoal::cluster

// store_protocol.h -- the messages of a connection to the job's store. docs/store.md describes the
// bytes.
//
//   greeting   server -> client   kServerMagic, nonce S
//              client -> server   kClientMagic, nonce C, MAC(secret; "client", S, C)
//              server -> client   MAC(secret; "server", C, S)
//   then, one at a time: request -> answer, each in a frame with a MAC (store_seal.h)
//
// Both sides prove the secret before either reads a request or trusts an answer. A client that
// meets another job's server notices by the last MAC and tries the next port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/secret.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

constexpr std::string_view kServerMagic = "SHOALS2\n";
constexpr std::string_view kClientMagic = "SHOALC2\n";
constexpr size_t kServerGreetingBytes = kServerMagic.size() + kNonceBytes;
constexpr size_t kClientGreetingBytes = kClientMagic.size() + kNonceBytes + kMacBytes;

std::string client_proof(const Secret& secret,
                         std::string_view server_nonce,
                         std::string_view client_nonce);
std::string server_proof(const Secret& secret,
                         std::string_view server_nonce,
                         std::string_view client_nonce);

// The values are sent: never renumber.
enum class StoreOp : uint8_t {
  kSet = 1,         // keys, values
  kAppend = 2,      // one key, one value
  kGet = 3,         // keys, patience    -> values, once all exist
  kWait = 4,        // keys, patience    -> nothing, once all exist
  kAdd = 5,         // one key, number   -> the sum, kept as decimal text
  kCompareSet = 6,  // one key, values {expected, desired} -> the value it has afterwards
  kCheck = 7,       // keys              -> 1 if all exist, else 0
  kRemove = 8,      // one key           -> 1 if it existed, else 0
  kCount = 9,       //                   -> number of keys
  kWill = 10,       // one key, one value: written when this connection ends, unless the key exists
  kRemoveUnder = 11,  // the beginning of keys -> how many there were
};

struct StoreRequest {
  StoreOp op{};
  std::vector<std::string> keys;
  std::vector<std::string> values;
  int64_t number = 0;
  Duration patience{};  // kGet and kWait: how long the server may delay the answer

  [[nodiscard]] std::string encode() const;
  // Returns nothing for a malformed message.
  static std::optional<StoreRequest> decode(std::string_view message);
};

constexpr size_t kMaxNamedKeys = 16;  // of the missing ones in a timeout answer

enum class StoreStatus : uint8_t {
  kDone = 0,
  kTimeout = 1,  // texts: the first missing keys; number: how many are missing
  kRefused = 2,  // texts: {reason}; the server closes the connection afterwards
};

struct StoreAnswer {
  StoreStatus status = StoreStatus::kDone;
  std::vector<std::string> texts;
  int64_t number = 0;

  [[nodiscard]] std::string encode() const;
  static std::optional<StoreAnswer> decode(std::string_view message);

  // Returns whether this can be the answer to that request: as many texts as were asked for, only
  // keys that were asked for, a number in its range.
  [[nodiscard]] bool fits(const StoreRequest& request) const;
};

}  // namespace shoal::cluster

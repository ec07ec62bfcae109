// Any bytes as a message to the store: decoded or refused, never a crash; what decodes encodes back
// to the same bytes, and a table that applies it stays within its limits. The same for answers, for
// what a connection brings, none of which has the right MAC, and for the lists that Slurm hands to a rank.

#include <string_view>

#include "shoal/cluster/hostlist.h"
#include "shoal/cluster/store_peer.h"
#include "shoal/cluster/store_protocol.h"
#include "shoal/cluster/store_table.h"
#include "shoal/core/error.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::cluster;  // NOLINT(google-build-using-namespace)
using shoal::tests::require;

void try_request(std::string_view bytes, StoreTable& table) {
  const auto request = StoreRequest::decode(bytes);
  if (!request) return;
  require(request->encode() == bytes);
  const auto answer = table.apply(*request);
  if (answer) {
    const auto heard = StoreAnswer::decode(answer->encode());
    require(heard && heard->texts == answer->texts && heard->number == answer->number);
    require(heard->fits(*request));
  } else {
    require(table.first_missing(*request, 0) < request->keys.size());
    require(table.timed_out(*request).fits(*request));
  }
}

// A stranger, and someone who writes into the connection of a client.
void try_peer(std::string_view bytes) {
  static const Secret secret = Secret::from_hex(std::string(64, '5'));
  StorePeer peer;
  peer.hear(bytes.substr(0, peer.room(bytes.size())));
  if (peer.has_greeted()) require(!peer.knows(secret));
  StorePeer admitted;
  admitted.hear(std::string(kClientGreetingBytes, 'g'));
  admitted.admit(secret);
  admitted.hear(bytes);
  require(!admitted.next(64).request);
}

void try_list(std::string_view text) {
  try {
    (void)expand_hostlist(text);
  } catch (const shoal::UsageError&) {
  }
  try {
    (void)expand_tasks_per_node(text);
  } catch (const shoal::UsageError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  StoreTable table(
      {.max_key_bytes = 16, .max_value_bytes = 64, .max_keys = 8, .max_total_bytes = 256});
  // Several messages in one input, so that one can meet what another left behind.
  std::string_view left = bytes;
  while (!left.empty()) {
    const size_t length = static_cast<unsigned char>(left.front());
    try_request(left.substr(1, length), table);
    left.remove_prefix(std::min(left.size(), length + 1));
  }
  try_request(bytes, table);
  (void)StoreAnswer::decode(bytes);
  try_peer(bytes);
  if (size < 200) try_list(bytes);
  return 0;
}

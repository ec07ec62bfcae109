// store_line.h -- the client's half of a connection to the store: the greeting, then sealed
// messages.
//
//   std::string reason;
//   auto line = greet_store(connect_to(endpoint, deadline), secret, deadline, reason);
//   send_message(*line, request.encode(), deadline);
//   const auto answer = receive_message(*line, deadline);
//
// StoreClient adds retries, requests and their errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shoal/cluster/secret.h"
#include "shoal/cluster/socket.h"
#include "shoal/cluster/store_seal.h"

namespace shoal::cluster {

struct StoreLine {
  UniqueFd fd;
  StoreSeal requests;
  StoreSeal answers;
  std::string received = {};  // of an answer that is not whole yet
};

// Proves the secret to the store at the other end of a connection and has it proven; nothing with a
// reason when the other is not this job's store.
std::optional<StoreLine> greet_store(UniqueFd fd,
                                     const Secret& secret,
                                     Clock::time_point deadline,
                                     std::string& reason);

bool send_message(StoreLine& line, std::string_view message, Clock::time_point deadline);

// Returns the next message of the store; nothing when none comes, and errno tells why: EBADMSG if
// it is not what the store has sealed; ETIMEDOUT if it may still come: then the next call returns it.
std::optional<std::string> receive_message(StoreLine& line, Clock::time_point deadline);

}  // namespace shoal::cluster

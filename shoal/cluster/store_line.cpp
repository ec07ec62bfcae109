#include "shoal/cluster/store_line.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "shoal/cluster/store_protocol.h"
#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMaxAnswerBytes = size_t{1} << 30;
// A length is only believed as far as bytes have come: someone on the way may have changed it.
constexpr size_t kReceiveBytes = size_t{1} << 20;

bool receive_more(int fd, std::string& bytes, size_t total, Clock::time_point deadline) {
  while (bytes.size() < total) {
    const size_t before = bytes.size();
    const size_t count = std::min(total - before, kReceiveBytes);
    bytes.resize(before + count);
    const size_t got = receive_up_to(fd, bytes.data() + before, count, deadline);
    bytes.resize(before + got);
    if (got < count) return false;
  }
  return true;
}

}  // namespace

std::optional<StoreLine> greet_store(UniqueFd fd,
                                     const Secret& secret,
                                     Clock::time_point deadline,
                                     std::string& reason) {
  std::string greeting(kServerGreetingBytes, '\0');
  if (!receive_exactly(fd.get(), greeting.data(), greeting.size(), deadline)) {
    reason = format("no greeting: {}", describe_errno(errno));
    return std::nullopt;
  }
  if (!greeting.starts_with(kServerMagic)) {
    reason = "something else than a shoal store of this version listens there";
    return std::nullopt;
  }
  const std::string_view server_nonce = std::string_view(greeting).substr(kServerMagic.size());
  const std::string client_nonce = random_bytes(kNonceBytes);
  const std::string reply =
      std::string(kClientMagic) + client_nonce + client_proof(secret, server_nonce, client_nonce);
  std::string proof(kMacBytes, '\0');
  if (!send_all(fd.get(), reply, deadline) ||
      !receive_exactly(fd.get(), proof.data(), proof.size(), deadline)) {
    reason = "it does not accept this job's secret, or is busy";
    return std::nullopt;
  }
  if (!equal_in_constant_time(proof, server_proof(secret, server_nonce, client_nonce))) {
    reason = "it is the store of another job";
    return std::nullopt;
  }
  return StoreLine{std::move(fd),
                   {secret, StoreDirection::kRequests, server_nonce, client_nonce},
                   {secret, StoreDirection::kAnswers, server_nonce, client_nonce}};
}

bool send_message(StoreLine& line, std::string_view message, Clock::time_point deadline) {
  return send_all(line.fd.get(), line.requests.seal(message), deadline);
}

std::optional<std::string> receive_message(StoreLine& line, Clock::time_point deadline) {
  std::string& frame = line.received;
  if (!receive_more(line.fd.get(), frame, kFrameHeadBytes, deadline)) return std::nullopt;
  const size_t length = message_bytes(frame);
  if (length <= kMaxAnswerBytes) {
    if (!receive_more(line.fd.get(), frame, frame_bytes(length), deadline)) return std::nullopt;
    std::string whole = std::exchange(frame, {});
    if (const auto message = line.answers.open(whole)) return std::string(*message);
  }
  errno = EBADMSG;
  return std::nullopt;
}

}  // namespace shoal::cluster

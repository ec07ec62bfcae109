#include "shoal/cluster/store_client.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <thread>

#include "shoal/core/activity.h"
#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAttempt = seconds(3);  // for one connection and its greeting
constexpr Duration kFirstPause = milliseconds(20);
constexpr Duration kLongestPause = seconds(1);

std::string reason_of(int error_number) {
  return error_number == 0 ? "the connection was closed" : describe_errno(error_number);
}

}  // namespace

StoreClient StoreClient::connect(const StoreTarget& target, Duration patience) {
  SHOAL_CHECK(!target.endpoints.empty(), "no endpoint to connect to");
  std::string where;
  for (const Endpoint& endpoint : target.endpoints)
    where += (where.empty() ? "" : ", ") + endpoint.text();
  const Activity doing("connecting to the store at " + where);
  const Clock::time_point deadline = Clock::now() + patience;
  // Thousands of ranks start at once: spread their retries, or they come back all together.
  std::minstd_rand jitter(std::random_device{}());
  Duration pause = kFirstPause;
  std::string reason;
  const auto note = [&](const Endpoint& endpoint, const std::string& what) {
    // Our own deadline cutting off the last attempt says nothing about the store: keep what was
    // known before.
    if (reason.empty() || Clock::now() < deadline) reason = format("{}: {}", endpoint.text(), what);
  };
  for (;;) {
    for (const Endpoint& endpoint : target.endpoints) {
      const Clock::time_point attempt_deadline = std::min(deadline, Clock::now() + kAttempt);
      UniqueFd fd = connect_to(endpoint, attempt_deadline);
      if (!fd.valid()) {
        note(endpoint, reason_of(errno));
        continue;
      }
      keep_alive(fd.get(), target.silence);
      std::string refusal;
      if (auto line = greet_store(std::move(fd), target.secret, attempt_deadline, refusal)) {
        return StoreClient(
            std::shared_ptr<Connection>(new Connection{target, endpoint, std::move(*line), {}}));
      }
      note(endpoint, refusal);
    }
    if (Clock::now() >= deadline) break;
    const auto spread =
        std::uniform_int_distribution<int64_t>(pause.count() / 2, pause.count())(jitter);
    std::this_thread::sleep_for(
        std::min<Clock::duration>(milliseconds(spread), deadline - Clock::now()));
    pause = std::min(pause * 2, kLongestPause);
  }
  throw PeerLost(format(
      "no connection to the store of rank 0 within {}; tried {}; last: {}; see that rank 0 is "
      "started, and that this rank can reach it",
      format_duration(patience), where, reason));
}

StoreClient StoreClient::clone(Duration patience) const {
  StoreClient another = connect(
      {{connection_->server}, connection_->target.secret, connection_->target.silence}, patience);
  another.prefix_ = prefix_;
  return another;
}

StoreClient StoreClient::under(const std::string& prefix) const {
  return StoreClient(connection_, prefix_ + prefix);
}

// Nothing when there is none, and errno tells why. A store that still owes an answer is given the time of
// this request from then on: who asks it one after the other does not wait for each.
std::optional<std::string> StoreClient::answer_to(const StoreRequest& request, Duration patience) {
  StoreLine& line = connection_->line;
  std::optional<Clock::time_point>& owed_since = connection_->owed_since;
  errno = 0;
  if (!line.fd.valid()) return std::nullopt;
  if (owed_since && !receive_message(line, *owed_since + patience)) return std::nullopt;
  owed_since.reset();
  const Clock::time_point begun = Clock::now();
  if (!send_message(line, request.encode(), begun + patience)) {
    errno = 0;  // half of it may be on its way
    return std::nullopt;
  }
  std::optional<std::string> message = receive_message(line, begun + patience);
  if (!message) owed_since = begun;
  return message;
}

StoreAnswer StoreClient::ask(StoreRequest request, Duration slack) {
  for (std::string& key : request.keys) key.insert(0, prefix_);
  const std::lock_guard lock(connection_->mutex);
  StoreLine& line = connection_->line;
  const std::optional<std::string> message = answer_to(request, request.patience + slack);
  if (!message && errno == ETIMEDOUT)
    throw PeerLost(format("the store of rank 0 at {} did not answer within {}",
                          connection_->server.text(), format_duration(request.patience + slack)));
  const char* problem =
      errno == EBADMSG
          ? "did not send what came in its name: see who else is on the network between"
          : "is gone";
  std::optional<StoreAnswer> answer;
  if (message) {
    answer = StoreAnswer::decode(*message);
    problem = "sent an answer that does not fit the request";
  }
  if (!answer || !answer->fits(request)) {
    line.fd.reset();
    throw PeerLost(format("the store of rank 0 at {} {}", connection_->server.text(), problem));
  }
  if (answer->status == StoreStatus::kRefused) {
    line.fd.reset();
    throw BugError(format("the store refused a request: {}", listed(answer->texts)));
  }
  if (answer->status == StoreStatus::kTimeout) {
    for (std::string& key : answer->texts) key.erase(0, prefix_.size());
    const auto more = answer->number - static_cast<int64_t>(answer->texts.size());
    throw StoreTimeout(
        format("waited {} for {}{} in the store of rank 0", format_duration(request.patience),
               listed(answer->texts), more > 0 ? format(" and {} more", more) : ""),
        answer->texts, answer->number);
  }
  return std::move(*answer);
}

void StoreClient::set(const std::string& key, const std::string& value, Duration slack) {
  ask({.op = StoreOp::kSet, .keys = {key}, .values = {value}}, slack);
}

void StoreClient::set(const std::vector<std::string>& keys,
                      const std::vector<std::string>& values) {
  SHOAL_CHECK(keys.size() == values.size(), "{} keys and {} values", keys.size(), values.size());
  ask({.op = StoreOp::kSet, .keys = keys, .values = values});
}

void StoreClient::append(const std::string& key, const std::string& value) {
  ask({.op = StoreOp::kAppend, .keys = {key}, .values = {value}});
}

std::string StoreClient::get(const std::string& key, Duration patience, Duration slack) {
  return get(std::vector<std::string>{key}, patience, slack).front();
}

std::vector<std::string> StoreClient::get(const std::vector<std::string>& keys,
                                          Duration patience,
                                          Duration slack) {
  return ask({.op = StoreOp::kGet, .keys = keys, .patience = patience}, slack).texts;
}

void StoreClient::wait(const std::vector<std::string>& keys, Duration patience, Duration slack) {
  ask({.op = StoreOp::kWait, .keys = keys, .patience = patience}, slack);
}

int64_t StoreClient::add(const std::string& key, int64_t amount, Duration slack) {
  return ask({.op = StoreOp::kAdd, .keys = {key}, .number = amount}, slack).number;
}

std::string StoreClient::compare_set(const std::string& key,
                                     const std::string& expected,
                                     const std::string& desired) {
  return ask({.op = StoreOp::kCompareSet, .keys = {key}, .values = {expected, desired}})
      .texts.front();
}

bool StoreClient::check(const std::vector<std::string>& keys) {
  return ask({.op = StoreOp::kCheck, .keys = keys}).number != 0;
}

bool StoreClient::remove(const std::string& key) {
  return ask({.op = StoreOp::kRemove, .keys = {key}}).number != 0;
}

int64_t StoreClient::remove_under(const std::string& prefix) {
  return ask({.op = StoreOp::kRemoveUnder, .keys = {prefix}}).number;
}

void StoreClient::leave_will(const std::string& key, const std::string& value) {
  ask({.op = StoreOp::kWill, .keys = {key}, .values = {value}});
}

int64_t StoreClient::num_keys() { return ask({.op = StoreOp::kCount}).number; }

std::string StoreClient::own_address() const {
  return local_endpoint(connection_->line.fd.get()).address;
}

}  // namespace shoal::cluster

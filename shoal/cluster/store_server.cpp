#include "shoal/cluster/store_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shoal/cluster/store_peer.h"
#include "shoal/cluster/store_waiting.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::cluster {
namespace {

using ConnectionId = StoreWaiting::Client;

constexpr ConnectionId kListenerId = 0;
constexpr ConnectionId kWakeId = 1;
constexpr ConnectionId kFirstConnectionId = 2;
constexpr Duration kLongestPatience = std::chrono::hours(24 * 7);
constexpr size_t kReadBytes = 64 << 10;
constexpr int64_t kMaxComplaints = 16;
// When the process is out of descriptors.
constexpr Duration kAcceptPause = std::chrono::milliseconds(50);

struct Connection {
  ConnectionId id = 0;
  UniqueFd fd;
  StorePeer peer;
  std::string out;
  bool closing = false;  // once `out` is sent
  std::optional<StoreRequest> will;
  uint32_t interest = 0;
};

}  // namespace

// Everything below runs on the server's thread, except stop(), drain() and counts().
class StoreServer::Loop {
 public:
  Loop(StoreServerOptions options, UniqueFd listener)
      : options_(std::move(options)),
        table_(options_.limits),
        waiting_(table_),
        listener_(std::move(listener)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_.valid() || !wake_.valid()) {
      throw PeerLost(format("cannot set up the store's event loop: {}", describe_errno(errno)));
    }
    watch(EPOLL_CTL_ADD, listener_.get(), EPOLLIN, kListenerId);
    watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWakeId);
  }

  void run() {
    std::optional<ActivityBoard::Seat> seat;
    if (options_.board != nullptr) seat.emplace(*options_.board, "store");
    std::array<epoll_event, 256> events{};
    while (!stopping_) {
      const int count =
          ::epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds_to_next_deadline());
      bool knocking = false;
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<size_t>(i)];
        knocking = knocking || event.data.u64 == kListenerId;
        handle(event);
      }
      // Last and a few at a time: whoever is about to prove the secret is heard before new
      // strangers push it out.
      if (knocking) accept_some();
      expire(Clock::now());
    }
  }

  void stop() {
    stopping_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }

  bool drain(Duration patience) {
    std::unique_lock lock(counts_mutex_);
    return all_gone_.wait_for(lock, patience, [this] { return counts_.clients == 0; });
  }

  Counts counts() const {
    const std::lock_guard lock(counts_mutex_);
    return counts_;
  }

 private:
  void watch(int operation, int fd, uint32_t events, ConnectionId id) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    ::epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  // ---- deadlines ----

  [[nodiscard]] int milliseconds_to_next_deadline() const {
    Clock::time_point next = Clock::now() + std::chrono::hours(1);
    if (!strangers_.empty()) next = std::min(next, strangers_.begin()->second);
    if (const auto waiter = waiting_.next_deadline()) next = std::min(next, *waiter);
    if (accept_paused_until_) next = std::min(next, *accept_paused_until_);
    const auto left = std::chrono::ceil<Duration>(next - Clock::now()).count();
    return static_cast<int>(std::max<int64_t>(left, 0));
  }

  void expire(Clock::time_point now) {
    while (!strangers_.empty() && strangers_.begin()->second <= now) turn_away_oldest_stranger();
    answer_all(waiting_.overdue(now));
    if (accept_paused_until_ && *accept_paused_until_ <= now) {
      accept_paused_until_.reset();
      watch(EPOLL_CTL_MOD, listener_.get(), EPOLLIN, kListenerId);
    }
  }

  // ---- connections ----

  void handle(const epoll_event& event) {
    const uint64_t id =
        event.data.u64;  // by value: the struct is packed, and a reference would not be aligned
    const auto found = connections_.find(id);
    // The listener, stop()'s wake-up, or closed earlier in this round.
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    if ((event.events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0 && (event.events & EPOLLIN) == 0) {
      close(connection);
      return;
    }
    if ((event.events & EPOLLIN) != 0 && !receive(connection)) return;
    if ((event.events & EPOLLOUT) != 0) flush(connection);
  }

  void accept_some() {
    const int batch = std::max(options_.max_strangers / 8, 1);
    for (int i = 0; i < batch; ++i) {
      UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.valid()) {
        greet(std::move(fd));
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_accepting();
      return;
    }
  }

  // Out of descriptors: make room if a stranger holds one, and look again in a moment instead of
  // spinning.
  void pause_accepting() {
    make_room();
    accept_paused_until_ = Clock::now() + kAcceptPause;
    watch(EPOLL_CTL_MOD, listener_.get(), 0, kListenerId);
  }

  void greet(UniqueFd fd) {
    if (std::ssize(strangers_) >= options_.max_strangers) make_room();
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    keep_alive(fd.get(), options_.silence);
    const ConnectionId id = next_id_++;
    Connection& connection = connections_[id];
    connection.id = id;
    connection.fd = std::move(fd);
    connection.interest = EPOLLIN | EPOLLRDHUP;
    strangers_[id] = Clock::now() + options_.greeting;
    watch(EPOLL_CTL_ADD, connection.fd.get(), connection.interest, id);
    send(connection, connection.peer.greeting());
  }

  // Thousands of ranks that connect at once must not push each other out: only who has not proven
  // the secret makes room.
  void make_room() {
    if (!strangers_.empty()) turn_away_oldest_stranger();
  }

  void turn_away_oldest_stranger() {
    connections_.erase(strangers_.begin()->first);
    strangers_.erase(strangers_.begin());
    const std::lock_guard lock(counts_mutex_);
    ++counts_.turned_away;
  }

  void close(Connection& connection) {
    waiting_.leave(connection.id);
    const bool admitted = strangers_.erase(connection.id) == 0;
    const std::optional<StoreRequest> will = std::move(connection.will);
    connections_.erase(connection.id);
    if (will) execute_will(*will);
    const std::lock_guard lock(counts_mutex_);
    if (!admitted) {
      ++counts_.turned_away;
    } else if (--counts_.clients == 0) {
      all_gone_.notify_all();
    }
  }

  // ---- bytes ----

  // False when the connection is gone.
  bool receive(Connection& connection) {
    std::array<char, kReadBytes> buffer;  // filled by recv
    StorePeer& peer = connection.peer;
    const ssize_t got = ::recv(connection.fd.get(), buffer.data(), peer.room(buffer.size()), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) {
      close(connection);
      return false;
    }
    peer.hear({buffer.data(), static_cast<size_t>(got)});
    if (peer.admitted()) return serve(connection);
    if (!peer.has_greeted() || admit(connection)) return true;
    close(connection);
    return false;
  }

  bool admit(Connection& connection) {
    if (!connection.peer.knows(options_.secret)) return false;
    {
      const std::lock_guard lock(counts_mutex_);
      if (counts_.clients >= options_.max_clients) {
        log::warn("the store has {} clients already and turns one away", counts_.clients);
        return false;
      }
      ++counts_.clients;
      ++counts_.admitted;
    }
    strangers_.erase(connection.id);
    send(connection, connection.peer.admit(options_.secret));
    return true;
  }

  void send(Connection& connection, std::string_view bytes) {
    connection.out += bytes;
    flush(connection);
  }

  // Sends what the socket takes. Never closes, so that callers may go on using the connection; a
  // broken one is reported by epoll in the next round.
  void flush(Connection& connection) {
    while (!connection.out.empty()) {
      const ssize_t sent =
          ::send(connection.fd.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) connection.out.clear();
      if (sent < 0) break;
      connection.out.erase(0, static_cast<size_t>(sent));
    }
    if (connection.out.empty() && connection.closing) ::shutdown(connection.fd.get(), SHUT_RDWR);
    update_interest(connection);
  }

  void update_interest(Connection& connection) {
    // A waiting client has nothing more to say until it is answered; only its going away matters.
    const bool listen = !waiting_.holds(connection.id) && !connection.closing;
    const uint32_t interest =
        EPOLLRDHUP | (listen ? EPOLLIN : 0U) | (connection.out.empty() ? 0U : EPOLLOUT);
    if (interest == connection.interest) return;
    connection.interest = interest;
    watch(EPOLL_CTL_MOD, connection.fd.get(), interest, connection.id);
  }

  // ---- requests ----

  // Executes the request once it is whole. False when the connection is gone.
  bool serve(Connection& connection) {
    if (waiting_.holds(connection.id) || !connection.out.empty())
      return dismiss(connection, "spoke before it was answered");
    const StorePeer::Heard heard = connection.peer.next(max_message_bytes());
    if (heard.fault != nullptr) return dismiss(connection, heard.fault);
    if (heard.request) execute(connection, *heard.request);
    return true;
  }

  // Returns false, for whoever has to say that the connection is gone.
  bool dismiss(Connection& connection, std::string_view why) {
    int64_t dismissed = 0;
    {
      const std::lock_guard lock(counts_mutex_);
      dismissed = ++counts_.dismissed;
    }
    // A log must not grow as fast as somebody sends.
    if (dismissed <= kMaxComplaints) {
      log::warn("the store closes the connection of a client that {}{}", why,
                dismissed == kMaxComplaints ? "; more of them will not be reported" : "");
    }
    close(connection);
    return false;
  }

  [[nodiscard]] size_t max_message_bytes() const {
    return options_.limits.max_value_bytes + options_.limits.max_key_bytes + 1024;
  }

  void execute(Connection& connection, const StoreRequest& request) {
    const std::optional<StoreAnswer> answer = table_.apply(request);
    if (!answer) {
      const auto patience = std::clamp(request.patience, Duration::zero(), kLongestPatience);
      waiting_.enter(connection.id, request, Clock::now() + patience);
      update_interest(connection);
      return;
    }
    reply(connection, *answer);
    if (request.op == StoreOp::kWill && answer->status == StoreStatus::kDone)
      connection.will = request;
    const bool writes = request.op == StoreOp::kSet || request.op == StoreOp::kAppend ||
                        request.op == StoreOp::kAdd || request.op == StoreOp::kCompareSet;
    if (writes && answer->status == StoreStatus::kDone) {
      for (const std::string& key : request.keys) answer_all(waiting_.written(key));
    }
  }

  // What the client has written itself counts more.
  void execute_will(const StoreRequest& will) {
    if (table_.first_missing(will, 0) == will.keys.size()) return;
    const auto written =
        table_.apply({.op = StoreOp::kSet, .keys = will.keys, .values = will.values});
    if (written && written->status == StoreStatus::kDone)
      answer_all(waiting_.written(will.keys.front()));
  }

  void reply(Connection& connection, const StoreAnswer& answer) {
    connection.closing = answer.status == StoreStatus::kRefused;
    send(connection, connection.peer.seal(answer));
  }

  void answer_all(const StoreWaiting::Answers& answers) {
    for (const auto& [id, answer] : answers) reply(connections_.at(id), answer);
  }

  const StoreServerOptions options_;
  StoreTable table_;
  StoreWaiting waiting_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::atomic<bool> stopping_{false};

  ConnectionId next_id_ = kFirstConnectionId;
  std::unordered_map<ConnectionId, Connection> connections_;
  // Who has not proven the secret yet, and until when that may take: ids ascend, and so do the times.
  std::map<ConnectionId, Clock::time_point> strangers_;
  std::optional<Clock::time_point> accept_paused_until_;

  mutable std::mutex counts_mutex_;
  std::condition_variable all_gone_;
  Counts counts_;
};

StoreServer::StoreServer(StoreServerOptions options) {
  UniqueFd listener;
  for (const int port : options.ports) {
    listener = listen_on({options.address, port});
    if (listener.valid()) break;
  }
  if (!listener.valid()) {
    std::string ports;
    for (const int port : options.ports) ports += format(" {}", port);
    throw PeerLost(format("the store finds no free port on {}: tried{}", options.address, ports));
  }
  endpoint_ = local_endpoint(listener.get());
  loop_ = std::make_unique<Loop>(std::move(options), std::move(listener));
  thread_ = std::thread([this] { loop_->run(); });
}

StoreServer::~StoreServer() {
  loop_->stop();
  thread_.join();
}

bool StoreServer::drain(Duration patience) { return loop_->drain(patience); }

StoreServer::Counts StoreServer::counts() const { return loop_->counts(); }

}  // namespace shoal::cluster

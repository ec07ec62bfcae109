#include "shoal/cluster/launcher_signals.h"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/stop_signals.h"

namespace shoal::cluster {

SignalInbox::SignalInbox() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  ::signal(SIGCHLD, SIG_DFL);  // whoever inherits SIG_IGN cannot learn how its children ended
  fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw PeerLost(format("cannot receive signals: {}", describe_errno(errno)));
}

SignalInbox::~SignalInbox() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<Received> SignalInbox::take() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return Received{.number = static_cast<int>(info.ssi_signo), .typed = info.ssi_code == SI_KERNEL};
}

std::optional<Order> take_order(int orders) {
  pollfd entry{orders, POLLIN, 0};
  if (orders < 0 || ::poll(&entry, 1, 0) <= 0) return std::nullopt;
  unsigned char number = 0;
  const ssize_t got = ::read(orders, &number, 1);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  if (got != 1) return Order{.last = true};
  return Order{.number = number};
}

void hold_signals() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

std::optional<int> stop_signal_within(Duration patience, int orders) {
  const SignalInbox inbox;
  const Clock::time_point deadline = Clock::now() + patience;
  for (;;) {
    if (const std::optional<Received> signal = inbox.take()) return signal->number;
    while (const std::optional<Order> order = take_order(orders)) {
      if (asks_to_stop(order->number) || order->number == SIGKILL) return order->number;
    }
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now());
    if (left <= Duration(0)) return std::nullopt;
    std::array<pollfd, 2> entries = {{{inbox.fd(), POLLIN, 0}, {orders, POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), static_cast<int>(left.count()));
  }
}

}  // namespace shoal::cluster

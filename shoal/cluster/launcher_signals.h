// launcher_signals.h -- what asks a launcher to stop: signals (stop_signals.h), which its ranks get to hear
// too, and orders from a launcher on another host, which are signals as bytes with their numbers.
#pragma once

#include <csignal>
#include <optional>

#include "shoal/core/files.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

struct Received {
  int number = 0;
  bool typed = false;  // by a terminal, and not sent by a process
};

// While it lives, these signals arrive through a descriptor instead of interrupting this
// thread.
class SignalInbox {
 public:
  SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;
  ~SignalInbox();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::optional<Received> take() const;

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

struct Order {
  int number = SIGTERM;
  bool last = false;  // the launcher that sends them is gone: nobody is left to hear of this job
};

// Returns what has been sent through a descriptor, or nothing; -1 is a launcher that nobody sends orders.
std::optional<Order> take_order(int orders);

// From now on these signals end nothing: those that come between two calls of supervise()
// wait for the next, or for stop_signal_within(). For a process that does nothing else any more.
void hold_signals();

// Waits, and returns the signal that asks this process to stop, if one comes meanwhile, here or as an
// order.
std::optional<int> stop_signal_within(Duration patience, int orders = -1);

}  // namespace shoal::cluster

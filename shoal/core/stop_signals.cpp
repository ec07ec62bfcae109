#include "shoal/core/stop_signals.h"

#include <algorithm>
#include <array>

#include "shoal/core/error.h"

namespace shoal {
namespace {

constexpr std::array<int, 5> kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

bool hangups_are_ignored() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

bool asks_to_stop(int signal) {
  return std::find(kStopSignals.begin(), kStopSignals.end(), signal) != kStopSignals.end();
}

int exit_code_of_stop(int signal) {
  return signal == SIGINT ? kSignalExitBase + SIGINT : static_cast<int>(ExitCode::kRequeue);
}

sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : kStopSignals) ::sigaddset(&signals, signal);
  if (hangups_are_ignored()) ::sigdelset(&signals, SIGHUP);
  return signals;
}

}  // namespace shoal

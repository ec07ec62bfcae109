#include "app/engine/stop_signal.h"

#include <csignal>

#include <sys/signalfd.h>
#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::app {
namespace {

sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  descriptor_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  SHOAL_CHECK(descriptor_ >= 0, "signalfd failed");
}

StopSignal::~StopSignal() { ::close(descriptor_); }

std::optional<int> StopSignal::received() {
  signalfd_siginfo info{};
  if (!received_ && ::read(descriptor_, &info, sizeof(info)) == sizeof(info)) {
    received_ = static_cast<int>(info.ssi_signo);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  }
  return received_;
}

}  // namespace shoal::app

#include "app/engine/stop_signal.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shoal/cluster/subprocess.h"
#include "shoal/core/error.h"
#include "shoal/core/stop_signals.h"

namespace shoal::app {

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
    if (cluster::has_supervisor()) return received_;
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  }
  return received_;
}

EndOnSignal::EndOnSignal(const StopSignal& signal, std::function<void()> give_back)
    : over_(::eventfd(0, EFD_CLOEXEC)) {
  SHOAL_CHECK(over_.valid(), "eventfd failed");
  thread_ = std::thread(
      [signals = signal.descriptor_, over = over_.get(), give_back = std::move(give_back)] {
        pollfd entries[] = {{signals, POLLIN, 0}, {over, POLLIN, 0}};
        while (::poll(entries, 2, -1) < 0) {
        }
        // A signal that comes in the moment of the end is left to be polled.
        if (entries[1].revents != 0) return;
        give_back();
        std::_Exit(static_cast<int>(ExitCode::kRequeue));
      });
}

EndOnSignal::~EndOnSignal() {
  const uint64_t one = 1;
  SHOAL_CHECK(::write(over_.get(), &one, sizeof(one)) == sizeof(one), "eventfd failed");
  thread_.join();
}

}  // namespace shoal::app

// stop_signals.h -- the signals that ask a job to stop: SIGINT, SIGTERM, SIGHUP, and SIGUSR1 and SIGUSR2,
// which schedulers are often told to send before the time is up.
#pragma once

#include <csignal>

namespace shoal {

bool asks_to_stop(int signal);

// Returns the exit code of a job that one of them has stopped: 130 after Ctrl-C, else "please requeue".
int exit_code_of_stop(int signal);

// Returns those that this process listens to: without SIGHUP when that is ignored, as `nohup` wants it.
// A signal that is blocked and ignored would arrive all the same.
sigset_t stop_signals();

}  // namespace shoal

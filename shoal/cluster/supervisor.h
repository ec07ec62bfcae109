// supervisor.h -- starts the ranks of this host, forwards signals, and tells which rank failed
// first.
//
//   const JobResult result = supervise(programs, {});
//   result.exit_code       // 137
//   result.cause           // "rank 3 on n2 (pid 4711) was killed by SIGKILL in step 41 after 12.3 s"
//
// When a rank fails the others get SIGTERM and, after a grace period, SIGKILL. A rank that ends
// because a peer is gone (exit code 75) is not the first cause while any other rank has a reason of
// its own. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to every rank; a second
// SIGINT kills, unless a process sends it within two seconds: it may be the same one on another way.
// Ranks that wait to be called in end on a signal, and the others have their time to save. A rank that
// the job goes on without is not a failure: its program may be started again while the others run. A
// launcher on another host (rank_process.h) takes the end of its input for a SIGTERM from a launcher
// that is gone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/subprocess.h"

namespace shoal::cluster {

// How one rank has ended, while the others may go on.
struct RankEnd {
  int exit_code = 0;  // 128 + n for a signal
  std::string cause;  // one line
  StepsTold steps;
  bool was_replacement = false;  // it had been started in the place of another
};

// What becomes of a rank that the job goes on without.
struct Replacement {
  std::optional<Duration> wait;  // until its program is started again; nothing: it is not
};

struct SuperviseOptions {
  Duration grace = std::chrono::seconds(30);  // between SIGTERM and SIGKILL
  // The same when nobody asked for an end but a rank failed; absent: grace.
  std::optional<Duration> grace_after_failure = std::nullopt;
  // How long to wait, after a first exit with 75, for the true cause to show.
  Duration settle = std::chrono::milliseconds(500);
  // For a launcher on another host that is told to kill its ranks: then it cannot be reached. For a process
  // that was killed: then the kernel does not let it go, and it is left behind.
  Duration time_to_obey = std::chrono::seconds(15);
  int orders = -1;  // a descriptor: signals from a launcher on another host, as bytes
  // Asked when a rank has failed that the job goes on without (StepReport::tell_replaceable); it may
  // change the program that is started in its place. Nothing: the job has failed.
  std::function<std::optional<Replacement>(const RankEnd& end, Program& program)> replace = nullptr;
};

struct JobResult {
  int exit_code = 0;   // exit code of the first cause; 128 + n for a signal
  std::string cause;   // one line; empty when every rank ended with 0
  size_t program = 0;  // index of the one that was the cause
  // Launchers on other hosts that cannot be reached, ascending: their connections were lost, or they did
  // not end when they were told to.
  std::vector<size_t> unreachable = {};
  bool asked_to_stop = false;  // by a signal
  StepsTold steps;             // by the rank that was the cause, or by the first one
};

JobResult supervise(const std::vector<Program>& programs, const SuperviseOptions& options);

}  // namespace shoal::cluster

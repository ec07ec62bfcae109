// stop_signal.h -- the signals that ask a run to stop (stop_signals.h), polled between steps.
//
// Construct it before any other thread, so that all threads block these signals. After the first
// one has been seen, the next SIGINT ends the process, as usual. Another SIGTERM does not: Slurm sends
// it to a rank and to its launcher, which passes it on. Nor does a SIGINT where there is a launcher of
// ours, for the same reason: the launcher kills when it was told twice.
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "shoal/core/files.h"

namespace shoal::app {

class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  // Returns the first signal that has arrived, also when called again.
  std::optional<int> received();

 private:
  friend class EndOnSignal;

  int descriptor_;
  std::optional<int> received_;
};

// While it lives, a signal ends the process with exit code 75: for a rank that waits for others or
// evaluates, and has nothing to save. `give_back` is called before, on a thread of its own.
class EndOnSignal {
 public:
  EndOnSignal(const StopSignal& signal, std::function<void()> give_back);
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;
  ~EndOnSignal();

 private:
  UniqueFd over_;
  std::thread thread_;
};

}  // namespace shoal::app

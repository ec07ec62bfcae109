// stop_signal.h -- SIGTERM and SIGINT, polled between steps.
//
// Construct it before any other thread, so that all threads block these signals. After the first
// one has been seen, the next SIGINT ends the process, as usual. Another SIGTERM does not: Slurm sends
// it to a rank and to its launcher, which passes it on.
#pragma once

#include <optional>

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
  int descriptor_;
  std::optional<int> received_;
};

}  // namespace shoal::app

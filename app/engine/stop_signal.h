// stop_signal.h -- SIGTERM and SIGINT as a question that can be asked between steps.
//
// Made before any other thread, so that all of them leave these signals alone. After the first one has
// been seen the next ends the process, as usual.
#pragma once

#include <optional>

namespace shoal::app {

class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  // The signal that has come; asked again, the same one.
  std::optional<int> received();

 private:
  int descriptor_;
  std::optional<int> received_;
};

}  // namespace shoal::app

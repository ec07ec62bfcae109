// byte_progress.h -- how far a command has come through its bytes, on standard error while it lives.
//
//   ByteProgress shown("verify");
//   state::verify(path, shown.progress());      // "verify [####......]  34%  1.20 GiB of 3.50 GiB ..."
#pragma once

#include <string>

#include "shoal/core/quantities.h"
#include "shoal/state/progress.h"

#include "app/progress_line.h"

namespace shoal::app {

class ByteProgress {
 public:
  explicit ByteProgress(std::string what);

  state::Progress& progress() { return progress_; }
  [[nodiscard]] double seconds() const { return seconds_since(began_); }

 private:
  [[nodiscard]] std::string text() const;

  const std::string what_;
  const Clock::time_point began_ = Clock::now();
  state::Progress progress_;
  ProgressLine line_;  // last: it looks at the others until it is gone
};

}  // namespace shoal::app

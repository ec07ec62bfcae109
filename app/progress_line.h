// progress_line.h -- how far long work has come, on standard error: a line that is rewritten on a
// terminal, and elsewhere a new line now and then.
//
//   ProgressLine line([&] { return format("{} of {}", done, total); });
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace shoal::app {

class ProgressLine {
 public:
  // `text` is called from another thread until this is destroyed.
  explicit ProgressLine(std::function<std::string()> text);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();  // a terminal's line is wiped

 private:
  void show();

  std::function<std::string()> text_;
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace shoal::app

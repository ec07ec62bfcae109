#include "app/progress_line.h"

#include <chrono>
#include <iostream>

#include <unistd.h>

#include "shoal/core/console.h"

namespace shoal::app {
namespace {

constexpr std::chrono::milliseconds kOnTerminal(200);
constexpr std::chrono::milliseconds kElsewhere(10'000);

}  // namespace

ProgressLine::ProgressLine(std::function<std::string()> text)
    : text_(std::move(text)),
      terminal_(console_of(STDERR_FILENO).live),
      thread_([this] { show(); }) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressLine::show() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, terminal_ ? kOnTerminal : kElsewhere, [this] { return done_; })) {
    if (terminal_) {
      std::cerr << "\r" << text_() << "\x1b[K" << std::flush;
    } else {
      std::cerr << text_() << std::endl;
    }
  }
}

}  // namespace shoal::app

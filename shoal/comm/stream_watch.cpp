#include "shoal/comm/stream_watch.h"

#include <algorithm>
#include <utility>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace shoal::comm {
namespace {

// Between two looks. It is a fraction of the shortest deadline that a config may ask for.
constexpr Duration kPause = std::chrono::milliseconds(20);

}  // namespace

StreamWatch::StreamWatch(c10::Device device, Duration deadline, OnLost on_lost)
    : device_(device),
      deadline_(deadline),
      on_lost_(std::move(on_lost)),
      thread_([this] { run(); }) {}

StreamWatch::~StreamWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StreamWatch::follow(LateCall call) {
  const std::lock_guard lock(mutex_);
  if (unused_.empty()) unused_.emplace_back(device_.type());
  c10::Event passed = std::move(unused_.back());
  unused_.pop_back();
  passed.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  calls_.push_back({.call = std::move(call), .passed = std::move(passed)});
  if (calls_.size() == 1) changed_.notify_one();
}

void StreamWatch::drop_ended() {
  bool dropped = false;
  while (!calls_.empty() && calls_.front().passed.query()) {
    calls_.front().call.passed();
    unused_.push_back(std::move(calls_.front().passed));
    calls_.pop_front();
    dropped = true;
  }
  if (dropped && !calls_.empty()) calls_.front().began = Clock::now();
}

LateCall* StreamWatch::find_late() {
  if (calls_.empty()) return nullptr;
  Followed& oldest = calls_.front();
  const Duration waited = since(oldest.began);
  if (waited >= deadline_ / 2) oldest.call.sign();
  return waited >= deadline_ ? &oldest.call : nullptr;
}

void StreamWatch::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !calls_.empty(); });
    if (ends_) return;
    drop_ended();
    if (LateCall* const late = find_late()) {
      LateCall call = *late;
      lock.unlock();
      on_lost_(call.lost(deadline_));
      return;
    }
    changed_.wait_for(lock, kPause, [this] { return ends_; });
  }
}

}  // namespace shoal::comm

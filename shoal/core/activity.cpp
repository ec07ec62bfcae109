#include "shoal/core/activity.h"

#include <algorithm>
#include <utility>

namespace shoal {
namespace {

// Which line the current thread writes. Thread-local, not global: a thread can only reach its own
// seat.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local ActivityBoard::Seat* current_seat = nullptr;

}  // namespace

ActivityBoard::Seat::Seat(ActivityBoard& board, std::string_view thread)
    : shared_(board.shared_), thread_(thread) {
  text_.since = Clock::now();
  const std::lock_guard lock(shared_->mutex);
  shared_->seats.push_back(this);
  current_seat = this;
}

ActivityBoard::Seat::~Seat() {
  const std::lock_guard lock(shared_->mutex);
  std::erase(shared_->seats, this);
  current_seat = nullptr;
}

ActivityBoard::Seat::Text ActivityBoard::Seat::exchange(const Text& text) {
  const std::lock_guard lock(mutex_);
  return std::exchange(text_, text);
}

std::vector<ActivityBoard::Line> ActivityBoard::snapshot() const {
  const std::lock_guard lock(shared_->mutex);
  std::vector<Line> lines;
  lines.reserve(shared_->seats.size());
  for (const Seat* seat : shared_->seats) {
    const std::lock_guard seat_lock(seat->mutex_);
    lines.push_back(
        {seat->thread_, {seat->text_.bytes.data(), seat->text_.size}, seat->text_.since});
  }
  return lines;
}

Activity::Activity(std::string_view what) : seat_(current_seat) {
  if (seat_ == nullptr) return;
  ActivityBoard::Seat::Text text;
  text.size = std::min(what.size(), text.bytes.size());
  std::copy_n(what.data(), text.size, text.bytes.data());
  text.since = Clock::now();
  before_ = seat_->exchange(text);
}

Activity::~Activity() {
  if (seat_ != nullptr) seat_->exchange(before_);
}

}  // namespace shoal

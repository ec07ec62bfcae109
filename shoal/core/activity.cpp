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
    : board_(board), thread_(thread) {
  text_.since = Clock::now();
  const std::lock_guard lock(board_.mutex_);
  board_.seats_.push_back(this);
  current_seat = this;
}

ActivityBoard::Seat::~Seat() {
  const std::lock_guard lock(board_.mutex_);
  std::erase(board_.seats_, this);
  current_seat = nullptr;
}

ActivityBoard::Seat::Text ActivityBoard::Seat::exchange(const Text& text) {
  const std::lock_guard lock(mutex_);
  return std::exchange(text_, text);
}

std::vector<ActivityBoard::Line> ActivityBoard::snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<Line> lines;
  lines.reserve(seats_.size());
  for (const Seat* seat : seats_) {
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

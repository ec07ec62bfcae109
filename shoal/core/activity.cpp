#include "shoal/core/activity.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace shoal {
namespace {

// Which line the current thread writes. Thread-local, not global: a thread can only reach its own
// seat.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local ActivityBoard::Seat* current_seat = nullptr;

}  // namespace

ActivityBoard::Seat::Seat(ActivityBoard& board, std::string_view thread)
    : shared_(board.shared_), thread_(thread), tid_(::gettid()) {
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

ActivityBoard::Seat::Text ActivityBoard::Seat::exchange(const Text& text, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  if (text_.pace == Pace::kOthers) waited_ += now - text_.since;
  return std::exchange(text_, text);
}

std::vector<ActivityBoard::Line> ActivityBoard::snapshot() const {
  const std::lock_guard lock(shared_->mutex);
  std::vector<Line> lines;
  lines.reserve(shared_->seats.size());
  for (const Seat* seat : shared_->seats) {
    const std::lock_guard seat_lock(seat->mutex_);
    lines.push_back({seat->thread_, std::string(seat->text_.view()), seat->text_.since,
                     seat->text_.pace, seat->tid_, seat->changes_});
  }
  return lines;
}

Activity::Activity(std::string_view what, Pace pace) : seat_(current_seat) {
  if (seat_ == nullptr) return;
  ActivityBoard::Seat::Text text;
  text.size = std::min(what.size(), text.bytes.size());
  std::copy_n(what.data(), text.size, text.bytes.data());
  text.since = Clock::now();
  text.pace = pace;
  before_ = seat_->exchange(text, text.since);
}

Activity::~Activity() {
  if (seat_ != nullptr) seat_->exchange(before_, Clock::now());
}

std::string Activity::current() {
  return current_seat == nullptr ? std::string() : std::string(current_seat->text_.view());
}

std::chrono::nanoseconds Activity::waited() {
  return current_seat == nullptr ? std::chrono::nanoseconds(0) : current_seat->waited_;
}

bool Activity::is_seen() { return current_seat != nullptr; }

}  // namespace shoal

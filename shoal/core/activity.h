// activity.h -- what each thread of this process is doing, and since when.
//
//   ActivityBoard board;
//   ActivityBoard::Seat seat(board, "step");      // once, at the top of the thread
//   { Activity doing("all_reduce 'gradients' on dp"); ... }
//   board.snapshot();                             // from any thread: the hang report reads this
//
// Writing costs an uncontended lock and a short copy; a thread without a seat writes nothing.
// Activities nest: the innermost one is shown, and the outer one is restored when it ends.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "shoal/core/quantities.h"

namespace shoal {

// Whether an activity that takes very long means that its thread is stuck.
enum class Pace : uint8_t {
  kOwn,     // it is this rank's own work
  kOthers,  // it waits for other ranks, a device or storage, which have deadlines of their own
};

class ActivityBoard {
  struct Shared;

 public:
  struct Line {
    std::string thread;
    std::string what;  // empty when idle
    Clock::time_point since;
    Pace pace = Pace::kOwn;
    pid_t tid = 0;         // of the kernel
    uint64_t changes = 0;  // activities begun and ended so far: a thread at work changes it
  };

  // A thread's line on the board. It may outlive the board; the thread that made it destroys it.
  class Seat {
   public:
    Seat(ActivityBoard& board, std::string_view thread);
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat();

   private:
    friend class ActivityBoard;
    friend class Activity;

    static constexpr size_t kMaxText = 120;

    struct Text {
      std::array<char, kMaxText> bytes;
      size_t size = 0;
      Clock::time_point since;
      Pace pace = Pace::kOwn;

      [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
    };

    Text exchange(const Text& text, Clock::time_point now);

    std::shared_ptr<Shared> shared_;
    const std::string thread_;
    const pid_t tid_;
    mutable std::mutex mutex_;
    Text text_;
    uint64_t changes_ = 0;
    std::chrono::nanoseconds waited_{};
  };

  [[nodiscard]] std::vector<Line> snapshot() const;

 private:
  struct Shared {
    std::mutex mutex;
    std::vector<const Seat*> seats;
  };

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// Shows a text on this thread's line as long as it lives; longer texts are cut.
class Activity {
 public:
  explicit Activity(std::string_view what, Pace pace = Pace::kOwn);
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  ~Activity();

  // Returns what this thread is doing; empty without a seat.
  static std::string current();
  // Whether anybody sees the activities of this thread: a text that costs something need not be made
  // for nobody.
  static bool is_seen();
  // Returns how long this thread has waited in ended activities at the pace of others.
  static std::chrono::nanoseconds waited();

 private:
  ActivityBoard::Seat* seat_;
  ActivityBoard::Seat::Text before_;
};

}  // namespace shoal

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
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/core/quantities.h"

namespace shoal {

class ActivityBoard {
  struct Shared;

 public:
  struct Line {
    std::string thread;
    std::string what;  // empty when idle
    Clock::time_point since;
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
    };

    Text exchange(const Text& text);

    std::shared_ptr<Shared> shared_;
    const std::string thread_;
    mutable std::mutex mutex_;
    Text text_;
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
  explicit Activity(std::string_view what);
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  ~Activity();

 private:
  ActivityBoard::Seat* seat_;
  ActivityBoard::Seat::Text before_;
};

}  // namespace shoal

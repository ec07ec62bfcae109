#include "shoal/core/activity.h"

#include <atomic>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(ActivityBoard, ShowsTheInnermostActivityAndRestoresTheOuterOne) {
  ActivityBoard board;
  const ActivityBoard::Seat seat(board, "step");
  EXPECT_EQ(board.snapshot().at(0).what, "");
  {
    const Activity outer("forward");
    const Clock::time_point outer_since = board.snapshot().at(0).since;
    {
      const Activity inner("all_gather 'weights' on dp");
      EXPECT_EQ(board.snapshot().at(0).thread, "step");
      EXPECT_EQ(board.snapshot().at(0).what, "all_gather 'weights' on dp");
      EXPECT_GE(board.snapshot().at(0).since, outer_since);
    }
    EXPECT_EQ(board.snapshot().at(0).what, "forward");
    EXPECT_EQ(board.snapshot().at(0).since, outer_since)
        << "an ended inner activity must not reset the clock";
  }
  EXPECT_EQ(board.snapshot().at(0).what, "");
}

TEST(ActivityBoard, TellsWorkFromWaiting) {
  ActivityBoard board;
  const ActivityBoard::Seat seat(board, "step");
  const auto line = [&] { return board.snapshot().at(0); };
  const uint64_t before = line().changes;
  const auto began = Clock::now();
  {
    const Activity outer("forward");
    EXPECT_EQ(line().pace, Pace::kOwn);
    EXPECT_EQ(Activity::current(), "forward");
    {
      const Activity inner("all_gather", Pace::kOthers);
      EXPECT_EQ(line().pace, Pace::kOthers);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(Activity::waited().count(), 0) << "it has not ended";
    }
    EXPECT_EQ(line().pace, Pace::kOwn);
    EXPECT_GE(Activity::waited(), std::chrono::milliseconds(20));
    EXPECT_LE(Activity::waited(), Clock::now() - began);
  }
  EXPECT_EQ(line().changes, before + 4);
  EXPECT_EQ(line().tid, ::gettid());
}

TEST(ActivityBoard, AThreadWithoutASeatWritesNothing) {
  const ActivityBoard board;
  const Activity doing("nobody sees this");
  EXPECT_TRUE(board.snapshot().empty());
}

TEST(ActivityBoard, CutsLongTexts) {
  ActivityBoard board;
  const ActivityBoard::Seat seat(board, "step");
  const Activity doing(std::string(500, 'x'));
  EXPECT_EQ(board.snapshot().at(0).what, std::string(120, 'x'));
}

TEST(ActivityBoard, IsReadWhileThreadsWrite) {
  ActivityBoard board;
  std::atomic<bool> stop{false};
  std::atomic<int> seated{0};
  auto work = [&](const std::string& name, const std::string& first, const std::string& second) {
    const ActivityBoard::Seat seat(board, name);
    ++seated;
    while (!stop) {
      const Activity outer(first);
      const Activity inner(second);
    }
  };
  std::thread a(work, "a", std::string(7, '1'), std::string(99, '2'));
  std::thread b(work, "b", std::string(31, '3'), std::string(64, '4'));
  while (seated < 2) std::this_thread::yield();
  for (int i = 0; i < 20000; ++i) {
    for (const ActivityBoard::Line& line : board.snapshot()) {
      // A torn read would mix the letters or lengths of two texts.
      const std::string expected_letters = line.thread == "a" ? "12" : "34";
      ASSERT_TRUE(line.what.empty() || line.what == std::string(line.what.size(), line.what[0]));
      ASSERT_TRUE(line.what.empty() || expected_letters.find(line.what[0]) != std::string::npos);
    }
  }
  stop = true;
  a.join();
  b.join();
  EXPECT_TRUE(board.snapshot().empty()) << "seats leave the board with their threads";
}

}  // namespace
}  // namespace shoal

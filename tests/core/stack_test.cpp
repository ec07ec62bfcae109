#include "shoal/core/stack.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {

// Not in an anonymous namespace, so that the linker exports its name.
[[gnu::noinline]] void spins_in_a_loop_of_ours(const std::atomic<bool>& ends) {
  while (!ends) {
  }
}

namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Stacks : public ::testing::Test {
 protected:
  // Starts a thread, and waits until it has said its number.
  template <class Work>
  pid_t start(Work work) {
    std::atomic<pid_t> tid{0};
    thread_ = std::thread([&tid, work] {
      tid = ::gettid();
      work();
    });
    while (tid == 0) std::this_thread::yield();
    return tid;
  }

  void TearDown() override {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::atomic<bool> ends_{false};
  std::thread thread_;
};

TEST_F(Stacks, AThreadInALoopIsFoundInIt) {
  const pid_t tid = start([this] { spins_in_a_loop_of_ours(ends_); });
  ThreadStack stack;
  const auto until = Clock::now() + 10s;
  do {  // it may be on its way there
    stack = stack_of(tid, 10s);
  } while (stack.frames.front().find("loop_of_ours") == std::string::npos && Clock::now() < until);
  EXPECT_EQ(stack.frames.front(), "shoal::spins_in_a_loop_of_ours (core_test)");
  EXPECT_THAT(stack.frames, Not(Contains(HasSubstr("(std::atomic"))));  // parameters are left out
}

TEST_F(Stacks, AThreadThatSleepsIsFoundAndSleepsOn) {
  const auto began = Clock::now();
  std::atomic<bool> woke{false};
  const pid_t tid = start([&woke] {
    std::this_thread::sleep_for(700ms);
    woke = true;
  });
  ThreadStack stack;
  do {
    stack = stack_of(tid, 10s);
  } while (stack.state != "sleeps" && Clock::now() - began < 300ms);
  EXPECT_EQ(stack.state, "sleeps");
  EXPECT_THAT(stack.frames, Contains(HasSubstr("(libc.so.6)")));
  thread_.join();
  EXPECT_TRUE(woke);
  EXPECT_GE(Clock::now() - began, 700ms) << "the signal must not cut the sleep short";
}

TEST_F(Stacks, AThreadThatHasEndedHasNone) {
  const pid_t tid = start([] {});
  thread_.join();
  const ThreadStack stack = stack_of(tid, 100ms);
  EXPECT_THAT(stack.frames, IsEmpty());
  EXPECT_EQ(stack.state, "has ended");
}

}  // namespace
}  // namespace shoal

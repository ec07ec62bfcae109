// Signals to a launcher, and what launchers tell each other.
#include <array>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/launcher_signals.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/cluster/scripts.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tests::kDeaf;
using tests::shell;
using tests::signal_us_once_there;
using tests::TempDir;
using tests::waits;

// Its standard input is a message, then signals as bytes, then the end.
TEST(Supervisor, SpeaksToALauncherElsewhere) {
  const TempDir dir;
  const std::string ready = (dir / "ready").string();
  Program far =
      shell(format("head -c 5 >{0}.new; mv {0}.new {0}; exit $(head -c 1 | od -An -tu1)", ready));
  far.input = "hello";
  std::thread sender = signal_us_once_there(SIGUSR2, ready);
  EXPECT_EQ(supervise({far}, {}).exit_code, SIGUSR2);
  sender.join();
  EXPECT_EQ(read_file(ready, 10), "hello");
}

struct Orders {
  Orders() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;
  ~Orders() { ::close(ends[0]); }  // the other end is closed by tests
  std::array<int, 2> ends{};
};

TEST(Supervisor, TakesOrdersFromALauncherElsewhere) {
  const Orders orders;
  const std::string sent = {'\0', SIGUSR1};
  EXPECT_EQ(::write(orders.ends[1], sent.data(), sent.size()), 2);
  const JobResult result =
      supervise({shell("while :; do sleep 0.05; done")}, {.orders = orders.ends[0]});
  EXPECT_EQ(result.exit_code, 128 + SIGUSR1);
  EXPECT_TRUE(result.asked_to_stop);
  ::close(orders.ends[1]);
}

TEST(Supervisor, EndsWhenTheLauncherElsewhereIsGone) {
  const Orders orders;
  ::close(orders.ends[1]);
  const JobResult result = supervise({shell(kDeaf), shell("exec sleep 100000")},
                                     {.grace = 300ms, .orders = orders.ends[0]});
  EXPECT_TRUE(result.asked_to_stop);
}

TEST(Supervisor, KillsItsRanksWhenItIsToldTo) {
  const Orders orders;
  const char kill = SIGKILL;
  EXPECT_EQ(::write(orders.ends[1], &kill, 1), 1);
  EXPECT_EQ(supervise({shell(kDeaf)}, {.grace = 24h, .orders = orders.ends[0]}).exit_code,
            128 + SIGKILL);
  ::close(orders.ends[1]);
}

// The first obeys; the connection of the second leads nowhere any more.
TEST(Supervisor, TellsWhichLauncherElsewhereDoesNotAnswer) {
  Program obeys = shell("while [ $(head -c 1 | od -An -tu1) != 9 ]; do :; done; exit 137");
  Program silent = shell(kDeaf);
  obeys.input = silent.input = "\n";
  const JobResult result = supervise({shell("exit 75"), obeys, silent},
                                     {.grace = 100ms, .settle = Duration(50), .time_to_obey = 5s});
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.unreachable, ElementsAre(2));
}

// Its connection is found to be lost after others have noticed.
TEST(Supervisor, TellsWhichLauncherElsewhereIsLostThoughAnotherFailedFirst) {
  Program lost = shell("sleep 1; exit 255");
  lost.input = "\n";
  const JobResult result =
      supervise({shell("exit 75"), lost}, {.grace = 60s, .settle = Duration(50)});
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.unreachable, ElementsAre(1));
}

// It waits for the last of its ranks before it says what the first one ended with.
TEST(Supervisor, ALauncherElsewhereThatKnowsTheReasonComesFirst) {
  Program far = shell("head -c 1 >/dev/null; exit 3");
  Program killed_there = shell("head -c 1 >/dev/null; exit 143");
  far.input = killed_there.input = "";
  const JobResult result = supervise({shell("exit 75"), far}, {.settle = Duration(50)});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.cause, AllOf(StartsWith("rank 1 "), Not(HasSubstr("stopped"))));
  EXPECT_EQ(supervise({shell("exit 75"), killed_there}, {.settle = Duration(50)}).exit_code, 75)
      << "its ranks ended because they were told to";
}

// A launcher is tied to each by four descriptors.
TEST(Supervisor, CountsTheDescriptorsOfLaunchersElsewhere) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{263, 263};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    Program far = shell("exit 0");
    int code = 1;
    try {
      supervise({far, far}, {});
      far.input = "";
      supervise({far, far}, {});
    } catch (const UsageError& error) {
      code = std::string(error.what()).find("needs 264 open files") != std::string::npos ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Supervisor, ALauncherElsewhereMayEndAWait) {
  const Orders orders;
  const char terminate = SIGTERM;
  EXPECT_EQ(::write(orders.ends[1], &terminate, 1), 1);
  EXPECT_EQ(stop_signal_within(60s, orders.ends[0]), SIGTERM);
  EXPECT_EQ(stop_signal_within(10ms, orders.ends[0]), std::nullopt);
  ::close(orders.ends[1]);
  EXPECT_EQ(stop_signal_within(60s, orders.ends[0]), SIGTERM) << "it is gone";
}

TEST(Supervisor, PassesOnSignals) {
  const TempDir dir;
  const std::string ready = (dir / "ready").string();
  const std::string script = "trap 'exit 42' USR1; : > " + ready + "; while :; do sleep 0.05; done";
  std::thread sender = signal_us_once_there(SIGUSR1, ready);
  const JobResult result = supervise({shell(script)}, {});
  sender.join();
  EXPECT_EQ(result.exit_code, 42);
}

// Slurm sends it to the launcher, and srun does.
TEST(Supervisor, AnInterruptThatArrivesTwiceIsOne) {
  const TempDir dir;
  const Orders orders;
  const std::string ready = (dir / "ready").string();
  std::thread sender([&] {
    while (!std::filesystem::exists(ready)) std::this_thread::yield();
    const std::string twice = {SIGINT, SIGINT};
    EXPECT_EQ(::write(orders.ends[1], twice.data(), twice.size()), 2);
  });
  const JobResult result = supervise({waits("trap \"trap '' INT; sleep 0.5; exit 42\" INT", ready)},
                                     {.orders = orders.ends[0]});
  sender.join();
  EXPECT_EQ(result.exit_code, 42);
  ::close(orders.ends[1]);
}

TEST(Supervisor, ALaterInterruptKills) {
  const TempDir dir;
  const std::string ready = (dir / "ready").string();
  std::thread first = signal_us_once_there(SIGINT, ready);
  std::jthread others([&](const std::stop_token& stop) {
    first.join();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(50ms);
      ::kill(::getpid(), SIGINT);
    }
  });
  const Clock::time_point began = Clock::now();
  EXPECT_EQ(supervise({waits("trap '' INT", ready)}, {}).exit_code, 128 + SIGKILL);
  EXPECT_GE(Clock::now() - began, 2s);
  others.request_stop();
  others.join();
  sigset_t left;  // for the next supervisor
  sigemptyset(&left);
  sigaddset(&left, SIGINT);
  const timespec at_once{};
  ::sigtimedwait(&left, nullptr, &at_once);
}

TEST(Supervisor, SaysThatItWasAskedToStop) {
  const TempDir dir;
  const std::string ready = (dir / "ready").string();
  std::thread sender = signal_us_once_there(SIGTERM, ready);
  const JobResult result = supervise({shell(format("touch {}; exec sleep 60", ready))}, {});
  sender.join();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_THAT(result.cause, StartsWith("passed SIGTERM on; rank 0 "));
}

}  // namespace
}  // namespace shoal::cluster

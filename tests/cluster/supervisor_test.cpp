#include "shoal/cluster/supervisor.h"

#include <array>
#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/cpu_shares.h"
#include "shoal/cluster/launcher_signals.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/process_stat.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tests::error_text;
using tests::TempDir;

Program shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {}, ""}; }

// Sends this process a signal as soon as the file is there.
std::thread signal_us_once_there(int number, const std::string& file) {
  // Blocked before the sender starts, or the signal would end that thread's process instead.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return std::thread([number, file, parent = ::getpid()] {
    while (!std::filesystem::exists(file)) std::this_thread::yield();
    ::kill(parent, number);
  });
}

TEST(Supervisor, AllRanksDone) {
  const JobResult result = supervise({shell("exit 0"), shell("sleep 0.05")}, {});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cause, "");
}

// ---- ranks that a job goes on without ----

// What StepReport::tell_replaceable() writes, and tell(0).
constexpr const char* kTellsReplaceable =
    "printf '\\001' | dd of=/dev/fd/$SHOAL_STEP_PAGE_FD bs=1 seek=16 conv=notrunc 2>/dev/null; ";
constexpr const char* kTellsStep =
    "printf '\\001' | dd of=/dev/fd/$SHOAL_STEP_PAGE_FD bs=1 seek=0 conv=notrunc 2>/dev/null; ";

TEST(Supervisor, StartsARankAgainThatTheOthersGoOnWithout) {
  const TempDir directory;
  const std::string twice = (directory.path() / "twice").string();
  std::vector<RankEnd> ends;
  SuperviseOptions options;
  options.replace = [&](const RankEnd& end, Program& program) {
    ends.push_back(end);
    program.environment["AGAIN"] = "yes";
    return std::optional(Replacement{.wait = Duration(0)});
  };
  const JobResult result =
      supervise({shell("while [ ! -e " + twice + " ]; do sleep 0.01; done"),
                 shell(std::string(kTellsReplaceable) + "[ -z \"$AGAIN\" ] && kill -9 $$; " +
                       kTellsStep + "touch " + twice)},
                options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cause, "");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_TRUE(ends[0].steps.replaceable);
  EXPECT_THAT(ends[0].cause, AllOf(StartsWith("rank 1 (pid "), HasSubstr("was killed by SIGKILL")));
}

TEST(Supervisor, DoesNotWaitForARankThatNobodyCallsInAnyMore) {
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& program) {
    program.arguments[2] = "sleep 60";
    return std::optional(Replacement{.wait = Duration(0)});
  };
  const Clock::time_point began = Clock::now();
  const JobResult result = supervise(
      {shell("sleep 0.5"), shell(std::string(kTellsReplaceable) + "kill -9 $$")}, options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_LT(Clock::now() - began, 30s);
}

// The others went on without it, and are done.
TEST(Supervisor, DoesNotWaitForARankThatStaysSuspended) {
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& /*program*/) {
    return std::optional(Replacement{});
  };
  const Clock::time_point began = Clock::now();
  const JobResult result =
      supervise({shell("sleep 0.5"),
                 shell(std::string(kTellsReplaceable) + kTellsStep + "kill -STOP $$; sleep 60")},
                options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_LT(Clock::now() - began, 30s);
}

TEST(Supervisor, StartsTheOnlyRankOfAHostAgain) {
  const TempDir directory;
  const std::string there = (directory.path() / "there").string();
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& program) {
    program.environment["AGAIN"] = "yes";
    return std::optional(Replacement{.wait = Duration(0)});
  };
  const JobResult result =
      supervise({shell(std::string(kTellsReplaceable) +
                       "[ -z \"$AGAIN\" ] && kill -9 $$; sleep 0.3; touch " + there)},
                options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(there)) << "it was ended before it was called in";
}

// Nobody is to be replaced: every rank that is counts.
SuperviseOptions counts_replacements(int& count) {
  SuperviseOptions options{.settle = Duration(50)};
  options.replace = [&count](const RankEnd& /*end*/, Program& /*program*/) {
    ++count;
    return std::optional(Replacement{.wait = Duration(0)});
  };
  return options;
}

TEST(Supervisor, AHostWhoseRanksHaveAllLostTheirPeersHasFailed) {
  int asked = 0;
  const Program lost = shell(std::string(kTellsReplaceable) + "exit 75");
  EXPECT_EQ(supervise({lost, lost}, counts_replacements(asked)).exit_code, 75);
  EXPECT_EQ(asked, 0);
}

// A script that waits for signals, after it has made a file.
Program waits(const std::string& traps, const std::string& ready) {
  return shell(format("{}; : >{}; while :; do sleep 0.05; done", traps, ready));
}

// They end at once on a signal. The rank that takes part needs longer to save than ranks get that failed.
TEST(Supervisor, SpareRanksThatEndOnASignalLeaveTheOthersTheirTime) {
  const TempDir dir;
  const std::string spare = (dir / "spare").string();
  const std::string ready = (dir / "ready").string();
  const std::string saved = (dir / "saved").string();
  const auto waits_to_be_called = [&](int i) {
    return waits(std::string(kTellsReplaceable) + "trap 'exit 75' TERM", format("{}{}", spare, i));
  };
  const std::string saves = "trap '' TERM; sleep 1; : >" + saved + "; exit 75";
  const Program rank =
      waits(format("trap \"{0}\" TERM; while [ ! -e {1}1 ] || [ ! -e {1}2 ]; do sleep 0.01; done",
                   saves, spare),
            ready);
  std::thread sender = signal_us_once_there(SIGTERM, ready);
  const JobResult result = supervise({rank, waits_to_be_called(1), waits_to_be_called(2)},
                                     {.grace = 100ms, .settle = Duration(50)});
  sender.join();
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.cause, StartsWith("passed SIGTERM on; rank 0 "));
  EXPECT_TRUE(std::filesystem::exists(saved));
}

TEST(Supervisor, ARankThatCannotBeStartedAgainEndsTheJobInOrder) {
  const TempDir dir;
  const std::string ready = (dir / "ready").string();
  const std::string saved = (dir / "saved").string();
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& program) {
    program.arguments = {"/no/such/program"};
    return std::optional(Replacement{.wait = Duration(0)});
  };
  const JobResult result =
      supervise({waits("trap ': >" + saved + "; exit 75' TERM", ready),
                 shell(format("{}while [ ! -e {} ]; do sleep 0.01; done; kill -9 $$",
                              kTellsReplaceable, ready))},
                options);
  EXPECT_EQ(result.exit_code, static_cast<int>(ExitCode::kUsage));
  EXPECT_THAT(result.cause, AllOf(StartsWith("rank 1 could not be started again: cannot start "
                                             "'/no/such/program': No such file"),
                                  HasSubstr("stopped the 1 still running")));
  EXPECT_TRUE(std::filesystem::exists(saved));
}

TEST(Supervisor, TheLastWordsOfARankAreNotSpentOnWhoAsksFirst) {
  std::string told;
  SuperviseOptions options{.settle = Duration(50)};
  options.replace = [&](const RankEnd& end, Program& /*program*/) {
    told = end.cause;
    return std::optional<Replacement>();
  };
  const JobResult result = supervise(
      {shell("sleep 60"),
       shell(std::string(kTellsReplaceable) + "echo no disk >&$SHOAL_LAST_WORDS_FD; exit 3")},
      options);
  EXPECT_THAT(told, EndsWith(": no disk"));
  EXPECT_THAT(result.cause, HasSubstr(": no disk; stopped"));
}

// One notices later than the other, and a spare rank waits to be called in.
TEST(Supervisor, AHostWhoseRanksLoseTheirPeersOneByOneHasFailed) {
  int asked = 0;
  const std::string tells = std::string(kTellsReplaceable) + kTellsStep;
  const JobResult result = supervise({shell(tells + "exit 75"), shell(tells + "sleep 1; exit 75"),
                                      shell(std::string(kTellsReplaceable) + "sleep 60")},
                                     counts_replacements(asked));
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_EQ(asked, 0);
}

TEST(Supervisor, FailsWhenTheFirstRankDoesOrNobodyReplaces) {
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& /*program*/) {
    return std::optional<Replacement>();
  };
  EXPECT_EQ(
      supervise({shell("sleep 60"), shell(std::string(kTellsReplaceable) + "exit 3")}, options)
          .exit_code,
      3);
  options.replace = [](const RankEnd& /*end*/, Program& /*program*/) {
    return std::optional(Replacement{.wait = Duration(0)});
  };
  const JobResult result = supervise(
      {shell("sleep 0.2; exit 75"), shell(std::string(kTellsReplaceable) + "exit 75")}, options);
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.cause, StartsWith("rank 0 "));
}

TEST(Supervisor, NamesTheFirstCauseAndStopsTheOthers) {
  const Clock::time_point began = Clock::now();
  const JobResult result =
      supervise({shell("sleep 60"), shell("sleep 0.1; exit 3"), shell("sleep 60")}, {});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.cause,
              AllOf(HasSubstr("rank 1 (pid "), HasSubstr("ended with exit code 3 after "),
                    HasSubstr("stopped the 2 still running")));
  EXPECT_LT(Clock::now() - began, 30s);
}

// A control group of this kernel with little memory; nothing where this process may not make one.
class SmallMemory {
 public:
  SmallMemory() {
    const bool old = std::filesystem::exists("/sys/fs/cgroup/memory");
    path_ = old ? "/sys/fs/cgroup/memory/shoal-test" : "/sys/fs/cgroup/shoal-test";
    std::error_code ignored;
    std::filesystem::create_directory(path_, ignored);
    std::ofstream limit(path_ / (old ? "memory.limit_in_bytes" : "memory.max"));
    limit << "33554432" << std::flush;
    usable_ = limit.good();
  }
  SmallMemory(const SmallMemory&) = delete;
  SmallMemory& operator=(const SmallMemory&) = delete;
  ~SmallMemory() { ::rmdir(path_.c_str()); }

  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] std::string enter() const {
    return "echo $$ > " + (path_ / "cgroup.procs").string();
  }

 private:
  std::filesystem::path path_;
  bool usable_ = false;
};

TEST(Supervisor, TellsWhenARankWasKilledForMemory) {
  const SmallMemory small;
  if (!small.usable()) GTEST_SKIP() << "no right to make a control group with a memory limit";
  const JobResult result = supervise(
      {shell("sleep 60"), shell(small.enter() + " && exec tail /dev/zero > /dev/null")}, {});
  EXPECT_EQ(result.exit_code, kSignalExitBase + SIGKILL);
  EXPECT_THAT(result.cause, AllOf(HasSubstr("rank 1 (pid "),
                                  HasSubstr("was killed by SIGKILL, out of memory, after ")));
  const JobResult other = supervise({shell("kill -KILL $$")}, {});
  EXPECT_THAT(other.cause, Not(HasSubstr("memory")));
}

TEST(Supervisor, NamesTheSignal) {
  Program killed = shell("kill -KILL $$");
  killed.name = "rank 8 on n2";
  const JobResult result = supervise({killed, shell("sleep 60")}, {});
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  EXPECT_THAT(result.cause, HasSubstr("rank 8 on n2 (pid "));
  EXPECT_THAT(result.cause, HasSubstr("was killed by SIGKILL"));
}

TEST(Supervisor, AVictimIsNotTheCause) {
  // Rank 0 notices a lost peer at once; the rank that is to blame takes longer to die.
  const JobResult result = supervise(
      {shell("exit 75"), shell("sleep 0.2; kill -SEGV $$"), shell("sleep 60")}, {.settle = 20s});
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(result.cause, HasSubstr("rank 1"));
}

TEST(Supervisor, KillsWhatDoesNotStop) {
  const Clock::time_point began = Clock::now();
  const JobResult result = supervise(
      {shell("exit 9"), shell("trap '' TERM; while :; do sleep 1; done")}, {.grace = 200ms});
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_LT(Clock::now() - began, 30s);
}

constexpr const char* kDeaf = "trap '' TERM; while :; do sleep 0.05; done";

TEST(Supervisor, AFailureNeedsLessGraceThanAnEnd) {
  const Clock::time_point began = Clock::now();
  EXPECT_EQ(supervise({shell("exit 9"), shell(kDeaf)}, {.grace = 60s, .grace_after_failure = 200ms})
                .exit_code,
            9);
  EXPECT_LT(Clock::now() - began, 30s);
}

TEST(Supervisor, BindsToCpus) {
  const TempDir dir;
  Program program = shell("grep Cpus_allowed_list /proc/self/status");
  program.output = (dir / "out").string();
  program.cpus = {allowed_cpus().back().number};
  EXPECT_EQ(supervise({program}, {}).exit_code, 0);
  EXPECT_EQ(read_file(dir / "out", 1000), format("Cpus_allowed_list:\t{}\n", program.cpus[0]));
}

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
  const Clock::time_point began = Clock::now();
  const JobResult result =
      supervise({shell(kDeaf), shell("sleep 60")}, {.grace = 300ms, .orders = orders.ends[0]});
  EXPECT_TRUE(result.asked_to_stop);
  EXPECT_LT(Clock::now() - began, 30s);
}

TEST(Supervisor, KillsItsRanksWhenItIsToldTo) {
  const Orders orders;
  const char kill = SIGKILL;
  EXPECT_EQ(::write(orders.ends[1], &kill, 1), 1);
  const Clock::time_point began = Clock::now();
  EXPECT_EQ(supervise({shell(kDeaf)}, {.orders = orders.ends[0]}).exit_code, 128 + SIGKILL);
  EXPECT_LT(Clock::now() - began, 30s);
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

// The others did without a rank that lost its peers, and are done before it is judged.
TEST(Supervisor, AJobThatIsDoneHasNotFailed) {
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& /*program*/) {
    return std::optional(Replacement{});
  };
  EXPECT_EQ(supervise({shell("sleep 0.5"),
                       shell(std::string(kTellsReplaceable) + kTellsStep + "exit 75")},
                      options)
                .exit_code,
            0);
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

// A script that is no `exec` has processes of its own.
TEST(Supervisor, LeavesNothingOfARankBehindThatHasFailed) {
  const TempDir dir;
  const std::string pid = (dir / "pid").string();
  EXPECT_EQ(supervise({shell("sleep 600 & echo $! >" + pid + "; exit 3")}, {}).exit_code, 3);
  const auto left = static_cast<pid_t>(std::stoi(read_file(pid, 20)));
  const Clock::time_point until = Clock::now() + 10s;
  const auto lives = [&] {
    const std::optional<ProcessStat> stat = process_stat(std::to_string(left));
    return stat && stat->state != 'Z';
  };
  while (lives() && Clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(lives());
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

TEST(Supervisor, KillsWhatIsStopped) {
  const JobResult result =
      supervise({shell("sleep 0.2; exit 9"), shell("kill -STOP $$; sleep 60")}, {.grace = 200ms});
  EXPECT_EQ(result.exit_code, 9);
}

// A tracer that is told of the end of a process, and never lets it go on, holds it as a driver does.
TEST(Supervisor, LeavesBehindWhatTheKernelDoesNotLetGo) {
  const TempDir dir;
  const std::string ready = (dir / "ready").string();
  const std::string traced = (dir / "traced").string();
  pid_t tracer = -1;
  pid_t held = -1;
  std::thread attaches([&] {
    while (!std::filesystem::exists(ready)) std::this_thread::yield();
    held = std::stoi(read_file(ready, 20));
    tracer = ::fork();
    if (tracer != 0) return;
    if (::ptrace(PTRACE_SEIZE, held, 0, PTRACE_O_TRACEEXIT) == 0) ::creat(traced.c_str(), 0600);
    ::pause();
  });
  const Clock::time_point began = Clock::now();
  const JobResult result = supervise(
      {shell("while [ ! -e " + traced + " ]; do sleep 0.02; done; exit 9"),
       shell(format("trap '' TERM; echo $$ >{0}.new; mv {0}.new {0}; while :; do sleep 0.05; done",
                    ready))},
      {.grace = 100ms, .time_to_obey = 300ms});
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_LT(seconds_since(began), 30);
  attaches.join();
  EXPECT_TRUE(process_stat(std::to_string(held))) << "it was not held, so this shows nothing";
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ::waitpid(held, nullptr, 0);
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

TEST(Supervisor, ShowsTheFirstLineOfARanksLastWords) {
  const JobResult result =
      supervise({shell("printf 'disk is full\\n  details' >&$SHOAL_LAST_WORDS_FD; exit 3")}, {});
  EXPECT_THAT(result.cause, EndsWith(" s: disk is full"));
}

TEST(Supervisor, OfThoseWhoLostAPeerRankZeroKnowsBest) {
  const TempDir dir;
  const std::string gone = (dir / "gone").string();
  const JobResult result =
      supervise({shell(format("while [ ! -e {} ]; do :; done; sleep 0.1; exit 75", gone)),
                 shell(format("touch {}; exit 75", gone))},
                {.settle = 20s});
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.cause, StartsWith("rank 0 "));
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

TEST(Supervisor, SeesTheEndOfItsRanksWhateverItInherited) {
  ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(supervise({shell("exit 5")}, {}).exit_code, 5);
}

TEST(Supervisor, StopsWhatItStartedWhenALaterProgramIsNotThere) {
  const TempDir dir;
  const std::string pid_file = (dir / "pid").string();
  const Program first = shell(format("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 60", pid_file));
  const Program second{{"/no/such/program"}, {}, ""};
  EXPECT_THROW(supervise({first, second}, {}), UsageError);
  if (std::filesystem::exists(pid_file)) {
    const int pid = std::stoi(read_file(pid_file, 100));
    EXPECT_EQ(::kill(pid, 0), -1) << "it is still there";
  }
}

TEST(Supervisor, NamesAnOutputThatCannotBeOpened) {
  const TempDir dir;
  Program program = shell("exit 0");
  program.output = dir.path().string();
  EXPECT_THAT(error_text<UsageError>([&] { supervise({program}, {}); }),
              HasSubstr(format("cannot write to '{}': Is a directory", dir.path().string())));
}

TEST(Supervisor, HandsOverEnvironmentAndOutput) {
  const TempDir dir;
  Program program = shell("echo rank $SHOAL_RANK; echo oops >&2");
  program.environment["SHOAL_RANK"] = "7";
  program.output = (dir / "out").string();
  EXPECT_EQ(supervise({program}, {}).exit_code, 0);
  EXPECT_EQ(read_file(dir / "out", 1000), "rank 7\noops\n");
}

TEST(Supervisor, RefusesAProgramThatIsNotThere) {
  EXPECT_THAT(error_text<UsageError>([] {
                supervise({{{"/no/such/program"}, {}, ""}}, {});
              }),
              HasSubstr("cannot start '/no/such/program': No such file"));
}

TEST(OutputOf, GivesStandardOutputOrNothing) {
  EXPECT_EQ(output_of({"/bin/echo", "a  b"}, 5s), "a  b\n");
  EXPECT_EQ(output_of({"/bin/sh", "-c", "echo x; exit 1"}, 5s), "");
  EXPECT_EQ(output_of({"/no/such/program"}, 5s), "");
  EXPECT_EQ(output_of({"/bin/sleep", "60"}, 50ms), "");
}

// Rank 0 has lost a peer, rank 1 hangs: whoever looks for the reason has to look there.
TEST(Supervisor, NamesTheRankThatHangsWhilePeersGiveUp) {
  const TempDir dir;
  const std::string pid = (dir / "pid").string();
  const Program gives_up = shell(format(
      "until grep -q '^State:.T' /proc/$(cat {0})/status; do :; done 2>{0}.errors; exit 75", pid));
  const Program hangs = shell(format("echo $$ >{0}.new; mv {0}.new {0}; kill -STOP $$", pid));
  const JobResult result =
      supervise({gives_up, hangs, gives_up}, {.grace = 200ms, .settle = 300ms});
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.cause, HasSubstr("stopped rank 1 (suspended), still running"));
}

}  // namespace
}  // namespace shoal::cluster

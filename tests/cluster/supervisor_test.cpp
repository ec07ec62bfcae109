#include "shoal/cluster/supervisor.h"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/cpu_shares.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/process_stat.h"

#include "tests/cluster/scripts.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::error_text;
using tests::kDeaf;
using tests::shell;
using tests::TempDir;

TEST(Supervisor, AllRanksDone) {
  const JobResult result = supervise({shell("exit 0"), shell("sleep 0.05")}, {});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cause, "");
}

TEST(Supervisor, NamesTheFirstCauseAndStopsTheOthers) {
  const JobResult result =
      supervise({shell("exec sleep 100000"), shell("exit 3"), shell("exec sleep 100000")}, {});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.cause,
              AllOf(HasSubstr("rank 1 (pid "), HasSubstr("ended with exit code 3 after "),
                    HasSubstr("stopped the 2 still running")));
}

// A control group of this kernel with little memory; nothing where this process may not make one.
class SmallMemory {
 public:
  SmallMemory() {
    const bool old = std::filesystem::exists("/sys/fs/cgroup/memory");
    path_ = std::filesystem::path(old ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") /
            format("shoal-test-{}", ::getpid());
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
  const JobResult result = supervise({shell("exit 9"), shell(kDeaf)}, {.grace = 200ms});
  EXPECT_EQ(result.exit_code, 9);
}

TEST(Supervisor, AFailureNeedsLessGraceThanAnEnd) {
  EXPECT_EQ(supervise({shell("exit 9"), shell(kDeaf)}, {.grace = 24h, .grace_after_failure = 200ms})
                .exit_code,
            9);
}

TEST(Supervisor, BindsToCpus) {
  const TempDir dir;
  Program program = shell("grep Cpus_allowed_list /proc/self/status");
  program.output = (dir / "out").string();
  program.cpus = {allowed_cpus().back().number};
  EXPECT_EQ(supervise({program}, {}).exit_code, 0);
  EXPECT_EQ(read_file(dir / "out", 1000), format("Cpus_allowed_list:\t{}\n", program.cpus[0]));
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
  const JobResult result = supervise(
      {shell("while [ ! -e " + traced + " ]; do sleep 0.02; done; exit 9"),
       shell(format("trap '' TERM; echo $$ >{0}.new; mv {0}.new {0}; while :; do sleep 0.05; done",
                    ready))},
      {.grace = 100ms, .time_to_obey = 300ms});
  EXPECT_EQ(result.exit_code, 9);
  attaches.join();
  EXPECT_TRUE(process_stat(std::to_string(held))) << "it was not held, so this shows nothing";
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ::waitpid(held, nullptr, 0);
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

// Ranks that a job goes on without, and that are started again.
#include <csignal>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/supervisor.h"
#include "shoal/core/error.h"

#include "tests/cluster/scripts.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::shell;
using tests::signal_us_once_there;
using tests::TempDir;
using tests::waits;

// What StepReport::tell_replaceable() writes, and tell(0).
constexpr const char* kTellsReplaceable =
    "printf '\\001' | dd of=/dev/fd/$SHOAL_STEP_PAGE_FD bs=1 seek=16 conv=notrunc 2>/dev/null; ";
constexpr const char* kTellsStep =
    "printf '\\001' | dd of=/dev/fd/$SHOAL_STEP_PAGE_FD bs=1 seek=0 conv=notrunc 2>/dev/null; ";

// Shell words that wait until `file` has the id of a process which has stopped, and has ended.
std::string wait_for_stop(const std::string& file) {
  return format(
      "until [ -s {0} ] && grep -q ') T ' /proc/$(cat {0})/stat 2>/dev/null; do sleep 0.01; done; ",
      file);
}

std::string wait_for_end(const std::string& file) {
  return format(
      "until [ -s {0} ] && ! grep -q ') [^Z] ' /proc/$(cat {0})/stat 2>/dev/null; do sleep 0.01; "
      "done; ",
      file);
}

// Shell words that write the id of the shell into `file` at once.
std::string write_pid(const std::string& file) {
  return format("echo $$ >{0}.new; mv {0}.new {0}; ", file);
}

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
  const TempDir directory;
  const std::string again = (directory / "again").string();
  SuperviseOptions options;
  options.replace = [&](const RankEnd& /*end*/, Program& program) {
    program.arguments[2] = ": >" + again + "; exec sleep 100000";
    return std::optional(Replacement{.wait = Duration(0)});
  };
  const JobResult result = supervise({shell("until [ -e " + again + " ]; do sleep 0.01; done"),
                                      shell(std::string(kTellsReplaceable) + "kill -9 $$")},
                                     options);
  EXPECT_EQ(result.exit_code, 0);
}

// The others went on without it, and are done.
TEST(Supervisor, DoesNotWaitForARankThatStaysSuspended) {
  const TempDir directory;
  const std::string stopped = (directory / "stopped").string();
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& /*program*/) {
    return std::optional(Replacement{});
  };
  const JobResult result =
      supervise({shell(wait_for_stop(stopped)),
                 shell(std::string(kTellsReplaceable) + kTellsStep + write_pid(stopped) +
                       "kill -STOP $$; exec sleep 100000")},
                options);
  EXPECT_EQ(result.exit_code, 0);
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
  const TempDir directory;
  const std::string first = (directory / "first").string();
  const std::string tells = std::string(kTellsReplaceable) + kTellsStep;
  const JobResult result = supervise({shell(tells + write_pid(first) + "exit 75"),
                                      shell(tells + wait_for_end(first) + "sleep 0.2; exit 75"),
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
  const TempDir directory;
  const std::string second = (directory / "second").string();
  const JobResult result =
      supervise({shell(wait_for_end(second) + "exit 75"),
                 shell(std::string(kTellsReplaceable) + write_pid(second) + "exit 75")},
                options);
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.cause, StartsWith("rank 0 "));
}

// The others did without a rank that lost its peers, and are done before it is judged.
TEST(Supervisor, AJobThatIsDoneHasNotFailed) {
  SuperviseOptions options;
  options.replace = [](const RankEnd& /*end*/, Program& /*program*/) {
    return std::optional(Replacement{});
  };
  const TempDir directory;
  const std::string lost = (directory / "lost").string();
  EXPECT_EQ(supervise({shell(wait_for_end(lost)), shell(std::string(kTellsReplaceable) +
                                                        kTellsStep + write_pid(lost) + "exit 75")},
                      options)
                .exit_code,
            0);
}

}  // namespace
}  // namespace shoal::cluster

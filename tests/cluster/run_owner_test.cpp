#include "shoal/cluster/run_owner.h"

#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/address.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

Membership named(const std::string& job) {
  Membership me;
  me.job = job;
  return me;
}

const Environment kNoScheduler = Environment(std::map<std::string, std::string>{});

// The lines of the one file that says who owns a directory.
std::map<std::string, std::string> owner_in(const std::filesystem::path& directory) {
  std::map<std::string, std::string> facts;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.path().filename().string().starts_with("owner-")) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(": ");
      facts[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return facts;
}

// As if another process had left it: what `changes` says is different from this one's.
void leave_owner(const std::filesystem::path& directory,
                 const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> facts;
  {
    const RunOwner owner(directory, named("earlier"), kNoScheduler, {});
    facts = owner_in(directory);
  }
  for (const auto& [key, value] : changes) facts[key] = value;
  std::string text;
  for (const auto& [key, value] : facts) text += key + ": " + value + "\n";
  write_file_atomically(directory / "owner-000007", text);
}

TEST(RunOwner, SaysWhoHasItAndGivesItBack) {
  const TempDir directory;
  {
    const RunOwner owner(directory.path(), named("slurm.4711.0.0"), kNoScheduler, {});
    EXPECT_TRUE(owner.owns());
    EXPECT_FALSE(owner.was_lost());
    EXPECT_EQ(owner_in(directory.path()).at("job"), "slurm.4711.0.0");
    EXPECT_EQ(owner_in(directory.path()).at("host"), host_name());
    EXPECT_THAT(
        error_text<UsageError>([&] { RunOwner(directory.path(), named("b"), kNoScheduler, {}); }),
        AllOf(HasSubstr("belongs to job slurm.4711.0.0 on " + host_name()),
              HasSubstr(format("(process {}) since 20", ::getpid())),
              HasSubstr("--set run.take_over=true")));
    EXPECT_TRUE(owner.owns()) << "asking changes nothing";
  }
  EXPECT_TRUE(owner_in(directory.path()).empty());
  const RunOwner next(directory.path(), named("b"), kNoScheduler, {});
  EXPECT_TRUE(next.owns());
}

TEST(RunOwner, FileIsNotForEverybody) {
  const TempDir directory;
  const RunOwner owner(directory.path(), named("a"), kNoScheduler, {});
  struct stat status {};
  ASSERT_EQ(::stat((directory.path() / "owner-000001").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(RunOwner, OfAProcessThatWasKilledIsTakenOverAtOnce) {
  const TempDir directory;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunOwner owner(directory.path(), named("killed"), kNoScheduler, {});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(owner_in(directory.path()).at("job"), "killed");
  // A process of another host would be watched for this time.
  const RunOwner owner(directory.path(), named("next"), kNoScheduler, {.patience = 24h});
  EXPECT_TRUE(owner.owns());
  EXPECT_EQ(owner_in(directory.path()).at("job"), "next");
}

// The number of a process is given to another one day: it is not the owner because it has the number.
TEST(RunOwner, ANumberThatAnotherProcessHasNowIsNobody) {
  const TempDir directory;
  leave_owner(directory.path(), {{"process started", "1"}});
  EXPECT_TRUE(RunOwner(directory.path(), named("next"), kNoScheduler, {}).owns());
}

// As another user's is.
TEST(RunOwner, WithAFileThatCannotBeReadIsNotGone) {
  const TempDir directory;
  const auto file = directory.path() / "owner-000007";
  std::filesystem::create_symlink(file, file);
  EXPECT_THAT(
      error_text<DataError>([&] { RunOwner(directory.path(), named("next"), kNoScheduler, {}); }),
      HasSubstr("owner-000007"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "owner-000008"));
}

TEST(RunOwner, OfAJobThatSlurmHasStartedAgainIsGone) {
  const TempDir directory;
  const auto restarted = [](const char* restarts) {
    return Environment(std::map<std::string, std::string>{{"SLURM_JOB_ID", "17"},
                                                          {"SLURM_RESTART_COUNT", restarts}});
  };
  const std::map<std::string, std::string> elsewhere = {
      {"host", "n2"}, {"boot", "another"}, {"slurm job", "17"}, {"slurm restarts", "1"}};
  leave_owner(directory.path(), elsewhere);
  EXPECT_TRUE(RunOwner(directory.path(), named("next"), restarted("2"), {.patience = 1h}).owns());
}

// A launcher died, and its rank 0 is still there: the kernel holds it, or it is on another host.
TEST(RunOwner, OfAnEarlierStartOfTheSameJobIsTakenOver) {
  const TempDir directory;
  const auto start = [](int restarts, const std::string& job) {
    Membership me = named(job);
    me.restarts = restarts;
    return me;
  };
  const RunOwner first(directory.path(), start(1, "same"), kNoScheduler, {.beat = 5ms});
  EXPECT_EQ(owner_in(directory.path()).at("restarts"), "1");
  for (const Membership& other : {start(1, "same"), start(0, "same"), start(2, "another")})
    EXPECT_THROW(RunOwner(directory.path(), other, kNoScheduler, {}), UsageError);
  const RunOwner second(directory.path(), start(2, "same"), kNoScheduler, {});
  EXPECT_TRUE(second.owns());
  EXPECT_FALSE(first.owns());
  const auto until = Clock::now() + 10s;
  while (!first.was_lost() && Clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(first.was_lost());
}

// An owner on another host is watched only by whether its file is touched. It may have the same name: then
// this one was started again, or not.
class OwnerElsewhere : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(RunOwner, OwnerElsewhere, ::testing::Values("n2", host_name()));

TEST_P(OwnerElsewhere, IsWatched) {
  const TempDir directory;
  const std::map<std::string, std::string> elsewhere = {{"host", GetParam()}, {"boot", "another"}};
  leave_owner(directory.path(), elsewhere);
  {
    const auto began = Clock::now();
    const RunOwner owner(directory.path(), named("next"), kNoScheduler, {.patience = 300ms});
    EXPECT_TRUE(owner.owns());
    EXPECT_GE(seconds_since(began), 0.3);
  }
  leave_owner(directory.path(), elsewhere);
  std::atomic<bool> alive = true;
  std::thread other([&] {
    while (alive) {
      ::utimensat(AT_FDCWD, (directory.path() / "owner-000007").c_str(), nullptr, 0);
      std::this_thread::sleep_for(5ms);
    }
  });
  EXPECT_THAT(error_text<UsageError>([&] {
                RunOwner(directory.path(), named("next"), kNoScheduler, {.patience = 10s});
              }),
              HasSubstr("belongs to job earlier on " + GetParam()));
  alive = false;
  other.join();
}

TEST(RunOwner, TouchesItsFile) {
  const TempDir directory;
  const RunOwner owner(directory.path(), named("a"), kNoScheduler, {.beat = 5ms});
  const auto file = directory.path() / "owner-000001";
  const auto first = std::filesystem::last_write_time(file);
  const auto until = Clock::now() + 10s;
  while (std::filesystem::last_write_time(file) == first && Clock::now() < until)
    std::this_thread::sleep_for(1ms);
  EXPECT_NE(std::filesystem::last_write_time(file), first);
}

TEST(RunOwner, NoticesThatItWasTakenOver) {
  const TempDir directory;
  const RunOwner first(directory.path(), named("first"), kNoScheduler, {.beat = 5ms});
  {
    const RunOwner second(directory.path(), named("second"), kNoScheduler, {.take_over = true});
    EXPECT_TRUE(second.owns());
    EXPECT_FALSE(first.owns());
    const auto until = Clock::now() + 10s;
    while (!first.was_lost() && Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(first.was_lost());
  }
  EXPECT_FALSE(first.owns()) << "also when the other one has gone";
  const RunOwner third(directory.path(), named("third"), kNoScheduler, {});
  EXPECT_FALSE(first.owns()) << "though it may have the same number";
}

// A network file system may fail for a while.
TEST(RunOwner, IsNotLostWhenTheDirectoryCannotBeRead) {
  const TempDir directory;
  const std::filesystem::path real = directory.path() / "real";
  const std::filesystem::path seen = directory.path() / "seen";
  std::filesystem::create_directory(real);
  std::filesystem::create_symlink(real, seen);
  const RunOwner owner(seen, named("a"), kNoScheduler, {.beat = 5ms});
  std::filesystem::remove(seen);
  std::ofstream(seen) << "no directory";
  const Clock::time_point until = Clock::now() + 200ms;
  while (Clock::now() < until) ASSERT_FALSE(owner.was_lost());
  EXPECT_FALSE(owner.owns()) << "nothing is committed meanwhile";
  std::filesystem::remove(seen);
  std::filesystem::create_symlink(real, seen);
  EXPECT_TRUE(owner.owns());
}

// Races in as many directories, all at once: each takes the time for which an owner is watched.
TEST(RunOwner, OfSeveralThatWantItOneGetsIt) {
  constexpr int kRaces = 20;
  constexpr int kRacers = 8;
  std::vector<TempDir> directories(kRaces);
  std::map<pid_t, size_t> racing;  // each with its race
  for (size_t race = 0; race < directories.size(); ++race) {
    leave_owner(directories[race].path(), {{"process started", "1"}});
    for (int i = 0; i < kRacers; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        try {
          const RunOwner owner(directories[race].path(), named("racer"), kNoScheduler, {});
          ::pause();
        } catch (const UsageError&) {
          ::_exit(3);
        } catch (...) {  // a child that went on would run the rest of the tests
        }
        ::_exit(4);
      }
      racing[child] = race;
    }
  }
  // All are refused but one in each directory.
  int status = 0;
  for (int refused = 0; refused < kRaces * (kRacers - 1); ++refused) {
    const pid_t ended = ::wait(&status);
    ASSERT_EQ(racing.erase(ended), 1U);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  std::set<size_t> won;
  for (const auto& [child, race] : racing) {
    EXPECT_TRUE(won.insert(race).second) << "two have the same directory";
    EXPECT_EQ(owner_in(directories[race].path()).at("process"), std::to_string(child));
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
}

TEST(RunOwner, HostileFilesAreRead) {
  const TempDir directory;
  for (const std::string& text :
       {std::string(), std::string(4000, '\n'), std::string("job: \x1b[2J\nhost: \x07n2\n"),
        std::string("process: -1\nprocess started: \n")}) {
    write_file_atomically(directory.path() / "owner-000007", text);
    const RunOwner owner(directory.path(), named("next"), kNoScheduler, {.patience = 20ms});
    EXPECT_TRUE(owner.owns());
  }
  write_file_atomically(directory.path() / "owner-000007", std::string(5000, 'x'));
  EXPECT_THROW(RunOwner(directory.path(), named("next"), kNoScheduler, {}), DataError);
}

}  // namespace
}  // namespace shoal::cluster

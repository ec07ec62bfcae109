#include "shoal/cluster/staging.h"

#include <fstream>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/launch_line.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using tests::error_text;

class StagingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* part : {"bin", "libexec/shoal", "lib/shoal", "share/shoal", "share/man"})
      fs::create_directories(prefix_ / part);
    std::ofstream(program_) << "#!/bin/sh\necho staged\n";
    fs::permissions(program_, fs::perms(0755));
    std::ofstream(prefix_ / "lib/shoal/libx.so.1") << "library";
    fs::create_symlink("libx.so.1", prefix_ / "lib/shoal/libx.so");
    std::ofstream(prefix_ / "share/man/shoal.1") << "not copied";
  }

  [[nodiscard]] Staging staging() const { return staging_of(program_, dir_ / "local disk"); }
  static int run(const std::string& script) {
    return supervise({{{"/bin/sh", "-c", script}, {}, ""}}, {}).exit_code;
  }
  static unsigned mode_of(const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  }
  // Names beside the copy: what an unfinished one would leave.
  [[nodiscard]] size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(dir_ / "local disk"), fs::directory_iterator()));
  }

  tests::TempDir dir_;
  fs::path prefix_ = dir_ / "it's installed";
  fs::path program_ = prefix_ / "bin/shoal";
};

TEST_F(StagingTest, CopiesWhatTheProgramNeeds) {
  const Staging made = staging();
  EXPECT_EQ(run(made.here()), 0);
  EXPECT_EQ(run(shell_text({made.program().string()})), 0);
  EXPECT_EQ(read_file(made.directory / "lib/shoal/libx.so", 100), "library");
  EXPECT_TRUE(fs::is_symlink(made.directory / "lib/shoal/libx.so"));
  EXPECT_FALSE(fs::exists(made.directory / "share/man"));
  EXPECT_EQ(mode_of(made.directory), 0750U);
  EXPECT_EQ(mode_of(made.program()), 0750U);
  EXPECT_EQ(mode_of(made.directory / "lib/shoal/libx.so.1"), 0640U);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(StagingTest, AnotherStartFindsTheCopyThatIsThere) {
  const Staging made = staging();
  EXPECT_EQ(run(made.here()), 0);
  std::ofstream(made.directory / "mark") << "kept";
  EXPECT_EQ(run(staging().here()), 0);
  EXPECT_TRUE(fs::exists(made.directory / "mark"));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(StagingTest, ADamagedCopyIsReplaced) {
  const Staging made = staging();
  const auto damage = [&](const std::string& command) {
    EXPECT_EQ(run(format("cd {} && {}", shell_text({made.directory.string()}), command)), 0);
    EXPECT_EQ(run(made.here()), 0) << command;
    EXPECT_EQ(read_file(made.directory / "lib/shoal/libx.so", 100), "library") << command;
    EXPECT_EQ(mode_of(made.program()), 0750U) << command;
    EXPECT_EQ(entries(), 1U) << command;
  };
  EXPECT_EQ(run(made.here()), 0);
  damage("printf L | dd of=lib/shoal/libx.so.1 conv=notrunc 2>/dev/null");
  damage(": >lib/shoal/libx.so.1");
  damage("rm lib/shoal/libx.so");
  damage("ln -sf libx.so.2 lib/shoal/libx.so");
  damage("chmod -x bin/shoal");
  damage("touch lib/shoal/libx.so.3");
}

TEST_F(StagingTest, AnotherContentIsAnotherCopy) {
  const fs::path before = staging().directory;
  EXPECT_EQ(staging().directory, before);
  std::ofstream(prefix_ / "lib/shoal/libx.so.1") << "Library";
  EXPECT_NE(staging().directory, before);
}

TEST_F(StagingTest, APartOfACopyIsNeverUsed) {
  const Staging made = staging();
  const std::string script = made.here();
  const std::string cut = "head -c 700 | /bin/sh -c";
  const std::string broken = std::string(script).replace(script.find("/bin/sh -c"), 10, cut);
  EXPECT_EQ(run(broken + " 2>/dev/null"), 2);
  EXPECT_FALSE(fs::exists(made.directory));
  EXPECT_EQ(entries(), 0U);
}

// Two nodes, one after the other: the second comes when the first has removed the archive.
TEST_F(StagingTest, NodesOfSlurmMayShareTheDisk) {
  const fs::path commands = dir_ / "commands";
  fs::create_directories(commands);
  std::ofstream(commands / "srun")
      << "#!/bin/sh\nwhile [ \"$1\" != /bin/sh ]; do shift; done\n\"$@\" && \"$@\"\n";
  std::ofstream(commands / "sbcast") << "#!/bin/sh\ncp \"$2\" \"$3\"\n";
  for (const char* name : {"srun", "sbcast"}) fs::permissions(commands / name, fs::perms(0755));
  const Environment environment(std::map<std::string, std::string>{{"SLURM_JOB_ID", "7"}});
  const Staging made = staging();
  EXPECT_EQ(run(format("PATH={}:$PATH; {}", shell_text({commands.string()}),
                       made.under_slurm(environment, 2))),
            0);
  EXPECT_EQ(run(shell_text({made.program().string()})), 0);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(StagingTest, RefusesTheDirectoryOfAnotherUser) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root, to give a directory away";
  const Staging made = staging();
  fs::create_directories(made.directory / "bin");
  ASSERT_EQ(::chown(made.directory.c_str(), 12345, 12345), 0);
  EXPECT_EQ(run(made.here() + " 2>/dev/null"), 2);
}

TEST_F(StagingTest, RefusesATreeThatIsNotInstalled) {
  EXPECT_THAT(error_text<UsageError>([&] { staging_of(dir_ / "build/shoal", "/local"); }),
              HasSubstr("does not stand in one"));
  EXPECT_THAT(error_text<UsageError>([&] { staging_of(program_, "local"); }),
              HasSubstr("must be an absolute path"));
}

}  // namespace
}  // namespace shoal::cluster

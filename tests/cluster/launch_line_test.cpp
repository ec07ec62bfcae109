#include "shoal/cluster/launch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/subprocess.h"
#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using tests::error_text;

const Words kLauncher = {"/opt/shoal/bin/shoal", "launch", "--ranks", "4", "--", "doctor"};

TEST(LaunchLine, AShellReadsTheWordsThatWereWritten) {
  const Words words = {"a b",
                       "it's",
                       "",
                       "$HOME `x` \"y\" \\ ; & | * ? [a] {b} ~ # !",
                       "tab\tand\nline",
                       "plain-1.0/x:y=z,@"};
  std::string expected;
  for (const std::string& word : words) expected += "<" + word + ">";
  Words command = {"printf", "<%s>"};
  command.insert(command.end(), words.begin(), words.end());
  EXPECT_EQ(output_of({"/bin/sh", "-c", shell_text(command)}, 10s), expected);
  EXPECT_EQ(output_of({"/bin/sh", "-c", "/bin/sh -c " + shell_text({shell_text(command)})}, 10s),
            expected);
  EXPECT_EQ(shell_text({"plain-1.0/x:y=z,@"}), "plain-1.0/x:y=z,@");
}

TEST(LaunchLine, OfSrun) {
  EXPECT_EQ(shell_text(srun_line(Environment(), 2, kLauncher)),
            "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=none --mpi=none "
            "--kill-on-bad-exit=0 --wait=60 /opt/shoal/bin/shoal launch --ranks 4 -- doctor");
}

// srun would take them for its own options, and give the launcher the share of one rank.
TEST(LaunchLine, OfSrunWithoutTheShareOfATask) {
  const Environment environment(
      {{"SLURM_CPUS_PER_TASK", "8"}, {"SRUN_CPUS_PER_TASK", "8"}, {"SLURM_GPUS_PER_TASK", "1"}});
  EXPECT_THAT(shell_text(srun_line(environment, 3, kLauncher)),
              HasSubstr("env -u SLURM_CPUS_PER_TASK -u SRUN_CPUS_PER_TASK -u SLURM_GPUS_PER_TASK "
                        "srun --nodes=3 "));
}

TEST(LaunchLine, OfMpiexec) {
  const auto line = [](const std::string& version) {
    return shell_text(mpiexec_line(mpiexec_of(version), 3, {"shoal"}));
  };
  EXPECT_EQ(line("mpiexec version 1.2.12 revision 7b9ad2e\n"),
            "mpiexec -n 3 --ppn 1 --cpu-bind none shoal");
  EXPECT_EQ(line("HYDRA build details:\n    Version: 4.2.1\n"), "mpiexec -n 3 -ppn 1 shoal");
  EXPECT_EQ(line("Intel(R) MPI Library for Linux* OS, Version 2021.11"),
            "mpiexec -n 3 -ppn 1 shoal");
  EXPECT_EQ(line("mpiexec (OpenRTE) 4.1.4\n"),
            "mpiexec -n 3 --map-by ppr:1:node --bind-to none shoal");
  EXPECT_THAT(error_text<UsageError>([] { mpiexec_of(""); }),
              HasSubstr("`mpiexec --version` is none of"));
}

TEST(LaunchLine, OfSsh) {
  const Environment with_ssh(std::map<std::string, std::string>{{"SHOAL_SSH", "ssh -p  2222"}});
  const Words line = ssh_line(Environment(), "me@n2", "/a b", kLauncher);
  EXPECT_EQ(line.front(), "ssh");
  EXPECT_EQ(line[line.size() - 2], "me@n2");
  EXPECT_EQ(line[line.size() - 3], "--");
  EXPECT_THAT(shell_text(line), HasSubstr(" -o ConnectTimeout=45 "));
  EXPECT_EQ(line.back(), "cd '/a b' && exec /opt/shoal/bin/shoal launch --ranks 4 -- doctor");
  EXPECT_THAT(shell_text(ssh_line(with_ssh, "n2", "/a", kLauncher)),
              ::testing::StartsWith("ssh -p 2222 -o BatchMode=yes "));
}

}  // namespace
}  // namespace shoal::cluster

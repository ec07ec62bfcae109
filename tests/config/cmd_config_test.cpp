#include "app/cmd_config.h"

#include <exception>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/describe.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/temp_dir.h"

namespace shoal::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string output_of(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  try {
    EXPECT_EQ(run_config(arguments), 0);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  return ::testing::internal::GetCapturedStdout();
}

TEST(ConfigCommand, ChecksAndPrintsWhatAFileComesTo) {
  const tests::TempDir dir;
  const std::string file = dir / "a.yaml";
  write_file_atomically(file, "parallel: {tp: 2}\n");
  EXPECT_THAT(output_of({"check", file}), HasSubstr("dp_shard: auto\n  cp: 1\n  pp: 1\n  tp: 2\n"));
  EXPECT_THAT(
      output_of({"check", "--set", "parallel.pp=3", file, "--set", "run.seed=5", "--ranks", "12"}),
      AllOf(HasSubstr("  seed: 5\n"),
            HasSubstr("parallel:\n  dp_replicate: 1\n  dp_shard: 2\n  cp: 1\n  pp: 3\n  tp: 2\n")));
}

TEST(ConfigCommand, ReportsProblems) {
  const tests::TempDir dir;
  const std::string file = dir / "a.yaml";
  write_file_atomically(file, "parallel: {tp: 2}\n");
  EXPECT_THROW(run_config({"check", dir / "none.yaml"}), UsageError);
  EXPECT_THROW(run_config({"check", file, "--set", "x=1"}), UsageError);
  EXPECT_THROW(run_config({"check", file, "--ranks", "3"}), UsageError);
  EXPECT_THROW(run_config({"check", file, "--ranks", "4", "--ranks-per-node", "1"}), UsageError);
  EXPECT_THROW(run_config({"help", "nonsense"}), UsageError);
}

TEST(ConfigCommand, PrintsWhatIsGenerated) {
  const config::RunConfig defaults;
  const config::Table table = config::table_of(defaults);
  EXPECT_EQ(output_of({"schema"}), config::to_json_schema(table));
  EXPECT_EQ(output_of({"docs"}), config::to_markdown(table));
  EXPECT_EQ(output_of({"help"}), config::to_help(table, ""));
  EXPECT_EQ(output_of({"help", "comm"}), config::to_help(table, "comm"));
}

TEST(ConfigCommand, AWrongCommandLineIsAUsageError) {
  EXPECT_THROW(run_config({}), UsageError);
  EXPECT_THROW(run_config({"nonsense"}), UsageError);
  EXPECT_THROW(run_config({"check"}), UsageError);
  EXPECT_THROW(run_config({"check", "a", "--ranks", "0"}), UsageError);
  EXPECT_THROW(run_config({"check", "a", "--ranks-per-node", "4"}), UsageError);
}

TEST(ConfigCommand, ExplainsItself) {
  EXPECT_THAT(output_of({"--help"}), HasSubstr("shoal config [OPTIONS] SUBCOMMAND"));
  EXPECT_THAT(output_of({"check", "--help"}), HasSubstr("--set KEY=VALUE"));
}

}  // namespace
}  // namespace shoal::app

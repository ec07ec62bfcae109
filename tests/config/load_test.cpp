#include "shoal/config/load.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/config/everything.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(Load, TheLaterSourceWins) {
  const tests::TempDir dir;
  write_file_atomically(dir / "a.yaml", "parallel: {tp: 2, pp: 2}\n");
  const Request request{.file = dir / "a.yaml", .sets = {"parallel.tp=4", "parallel.tp=8"}};
  const RunConfig config = load_or_throw(request);
  EXPECT_EQ(config.parallel.cp, 1) << "default";
  EXPECT_EQ(config.parallel.pp, 2) << "file";
  EXPECT_EQ(config.parallel.tp, 8) << "the last --set";
}

TEST(Load, WithoutAFileThereAreDefaultsAndSets) {
  EXPECT_EQ(load_or_throw({}), RunConfig{});
  EXPECT_EQ(load_or_throw({.sets = {"run.seed=7"}}).run.seed, 7U);
}

TEST(Load, RemembersWhereKeysWereWritten) {
  const Request request{.file = "a.yaml", .sets = {"log.level=debug"}};
  const Loaded loaded = load_text("parallel:\n  tp: 2\n", request);
  EXPECT_THAT(loaded.found.places,
              UnorderedElementsAre(Pair("parallel", "a.yaml:1:1"),
                                   Pair("parallel.tp", "a.yaml:2:7"), Pair("log.level", "--set")));
}

TEST(Load, ASectionMayBeEmpty) {
  EXPECT_THAT(load_text("parallel:\n  # tp: 2\nlog:\n", {}).found.problems, IsEmpty());
}

TEST(Load, WithAWorldAutoIsResolved) {
  EXPECT_EQ(
      load_or_throw({.sets = {"parallel.tp=2"}, .job = JobSize{.ranks = 8}}).parallel.dp_shard, 4);
  EXPECT_EQ(load_or_throw({.sets = {"parallel.tp=2"}}).parallel.dp_shard, std::nullopt);
}

TEST(Load, ThrowsTheCompleteReport) {
  const tests::TempDir dir;
  const std::string file = dir / "a.yaml";
  write_file_atomically(file, "comm:\n  deadlin: 1m\n");
  try {
    load_or_throw({.file = file, .sets = {"parallel.tp=3"}, .job = JobSize{.ranks = 8}});
    FAIL() << "two problems";
  } catch (const UsageError& error) {
    EXPECT_EQ(
        error.what(),
        file +
            " cannot run on 8 ranks (2 problems)\n"
            "  comm.deadlin   is not a key of shoal (" +
            file +
            ":2:3)\n"
            "                 -> did you mean comm.deadline?\n"
            "  parallel       dp_replicate*cp*pp*tp = 1*1*1*3 = 3 does not divide 8 ranks, so "
            "nothing is "
            "left for dp_shard: auto\n"
            "                 -> launch 6 or 9 ranks, or choose degrees whose product divides 8");
  }
}

TEST(Load, AFileThatIsNotThereIsNotCalledAMatterOfRanks) {
  const std::string text = tests::error_text<UsageError>(
      [] { load_or_throw({.file = "nowhere.yaml", .job = JobSize{.ranks = 8}}); });
  EXPECT_THAT(text, StartsWith("nowhere.yaml cannot be used (1 problem)\n"));
  EXPECT_THAT(text, HasSubstr("No such file"));
}

TEST(Load, ReadsEveryTypeFromAFileAndFromSet) {
  tests::Everything config;
  Findings found;
  const Table table = table_of(config);
  read_yaml(
      table,
      "numbers:\n  - 3\n  - 4\nwords: [a, 'b c']\nouter: {flag: true, inner: {bytes: 1 GiB}}\n",
      "a.yaml", found);
  read_set(table, "outer.inner.duration=1h", found);
  read_set(table, "maybe_choice=mpi", found);
  read_set(table, "words=[x, \"y=z\"]", found);
  read_set(table, "text=a=b", found);
  EXPECT_EQ(report("", found.problems), " (0 problems)");
  EXPECT_THAT(config.numbers, ElementsAre(3, 4));
  EXPECT_THAT(config.words, ElementsAre("x", "y=z"));
  EXPECT_TRUE(config.outer.flag);
  EXPECT_EQ(config.outer.inner.bytes, Bytes{1 << 30});
  EXPECT_EQ(config.outer.inner.duration, std::chrono::hours(1));
  EXPECT_EQ(config.maybe_choice, Backend::kMpi);
  EXPECT_EQ(config.text, "a=b");
}

TEST(Load, EveryExampleIsGood) {
  const char* source = std::getenv("SHOAL_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "ctest sets SHOAL_SOURCE_DIR";
  int examples = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(source) / "configs")) {
    if (file.path().extension() != ".yaml") continue;
    ++examples;
    EXPECT_NO_THROW(load_or_throw({.file = file.path()})) << file.path();
  }
  EXPECT_GT(examples, 0);
}

}  // namespace
}  // namespace shoal::config

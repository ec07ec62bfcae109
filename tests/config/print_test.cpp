#include "shoal/config/print.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/files.h"

#include "tests/config/everything.h"
#include "tests/config/perturb.h"
#include "tests/support/temp_dir.h"

namespace shoal::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using tests::Everything;

template <class Config>
Config perturbed() {
  Config config;
  tests::perturb(table_of(config));
  return config;
}

// Prints `config` and reads the text into one with the opposite values, so that a key that is not
// printed, or not read, shows.
template <class Config>
void expect_round_trip(const Config& config, Config other) {
  const std::string text = to_yaml(table_of(config));
  Findings found;
  read_yaml(table_of(other), text, "printed.yaml", found);
  EXPECT_EQ(report("printed.yaml", found.problems), "printed.yaml (0 problems)") << text;
  EXPECT_THAT(diff(table_of(config), table_of(other)), IsEmpty());
}

template <class Config>
class RoundTrip : public ::testing::Test {};

using Configs = ::testing::Types<RunConfig, Everything>;
TYPED_TEST_SUITE(RoundTrip, Configs);

TYPED_TEST(RoundTrip, DefaultsReadBack) { expect_round_trip(TypeParam{}, perturbed<TypeParam>()); }

TYPED_TEST(RoundTrip, EveryOtherValueReadsBack) {
  expect_round_trip(perturbed<TypeParam>(), TypeParam{});
}

TYPED_TEST(RoundTrip, PerturbingChangesEveryFieldButTheVersion) {
  const TypeParam before;
  const TypeParam after = perturbed<TypeParam>();
  const Table table = table_of(before);
  for (const Entry& entry : table) {
    if (!entry.field || entry.key == "version") continue;
    EXPECT_NE(entry.field->write(), find_entry(table_of(after), entry.key)->field->write())
        << entry.key << " is not covered by the round trip";
  }
}

TEST(ToYaml, PrintsEveryKeyInOrder) {
  RunConfig config;
  config.run.name = "gpt2";
  config.data.sources = {"tokens/web", "tokens/books"};
  const std::string yaml = to_yaml(config);
  EXPECT_THAT(yaml, StartsWith("version: 1\n"
                               "run:\n"
                               "  name: gpt2\n"
                               "  directory: runs\n"
                               "  seed: 1234\n"
                               "  take_over: false\n"
                               "model:\n"
                               "  layers: 12\n"));
  EXPECT_THAT(yaml, HasSubstr("data:\n"
                              "  sources: [tokens/web, tokens/books]\n"
                              "  weights: []\n"));
  size_t at = 0;
  for (const Entry& entry : table_of(std::as_const(config))) {
    at = yaml.find(format("{}:", entry.name()), at);
    ASSERT_NE(at, std::string::npos) << entry.key;
  }
}

TEST(Diff, NamesTheKeysAndBothValues) {
  RunConfig before;
  RunConfig after;
  EXPECT_THAT(diff(before, after), IsEmpty());
  EXPECT_EQ(before, after);
  after.parallel.tp = 8;
  after.comm.interface = "auto";  // an interface of that name, not the absence of a choice
  EXPECT_THAT(diff(before, after), ElementsAre(Difference{"parallel.tp", "1", "8"},
                                               Difference{"comm.interface", "auto", "\"auto\""}));
  EXPECT_FALSE(before == after);
}

TEST(Save, WritesWhatLoadsAsTheSame) {
  const tests::TempDir dir;
  const auto config = perturbed<RunConfig>();
  save(config, dir / "config.yaml");
  EXPECT_EQ(load_or_throw({.file = dir / "config.yaml"}), config);
}

}  // namespace
}  // namespace shoal::config

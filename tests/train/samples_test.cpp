#include "shoal/train/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/data/loader/data_set.h"
#include "tests/support/error_text.h"

namespace shoal::train {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

config::RunConfig trained_on(std::vector<std::string> sources) {
  config::RunConfig config;
  config.model.context = 19;
  config.data.sources = std::move(sources);
  return config;
}

TEST(Samples, NoSourceIsAnErrorThatNamesTheKey) {
  EXPECT_THAT(error_text<UsageError>([] { (void)open_training(trained_on({})); }),
              HasSubstr("data.sources is empty"));
}

TEST(Samples, DataWithoutAValidationSplitGivesNone) {
  const tests::TempDir directory;
  data::write_data_set(directory.path(), {.tokenizer = "t", .vocab_size = 101},
                       data::random_shards(3, 101, 2));
  const config::RunConfig config = trained_on({directory.path().string()});
  EXPECT_EQ(open_validation(config), nullptr);
  EXPECT_EQ(open_training(config)->sequence_length(), 19U);
}

TEST(Samples, OrderAndSeedAreThoseOfTheConfig) {
  const tests::TempDir directory;
  data::write_data_set(directory.path(), {.tokenizer = "t", .vocab_size = 101},
                       data::random_shards(3, 101, 2));
  config::RunConfig config = trained_on({directory.path().string()});
  const std::string shuffled = open_training(config)->identity();
  config.run.seed += 1;
  EXPECT_NE(open_training(config)->identity(), shuffled);
  config.data.order = config::SampleOrder::kSequential;
  EXPECT_NE(open_training(config)->identity(), shuffled);
}

}  // namespace
}  // namespace shoal::train

#include "shoal/config/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"

namespace shoal::config {
namespace {

RunConfig with(const std::string& set) {
  return load_or_throw(
      {.sets = {"data.sources=[tokens]", "train.batch=6", set}, .job = JobSize{.ranks = 2}});
}

TEST(Agreement, OfRanksIsOnWhatIsComputed) {
  const std::string mine = shared_by_ranks(with("run.seed=1234"));
  for (const char* set : {"optimizer.lr=0.5", "data.weights=[2]", "model.dropout=0.1",
                          "train.batch=8", "parallel.tp=2", "run.seed=7", "comm.deadline=3m"})
    EXPECT_NE(shared_by_ranks(with(set)), mine) << set;
  for (const char* set : {"data.sources=[/local/tokens]", "train.threads=3", "comm.interface=lo",
                          "run.directory=/scratch", "log.level=debug"})
    EXPECT_EQ(shared_by_ranks(with(set)), mine) << set;
}

TEST(Agreement, OfARunIsOnWhatItsTensorsMean) {
  const std::string mine = kept_by_run(with("run.seed=1234"));
  for (const char* set :
       {"model.heads=2", "model.activation=gelu", "model.norm_epsilon=1e-6", "optimizer.kind=muon"})
    EXPECT_NE(kept_by_run(with(set)), mine) << set;
  for (const char* set :
       {"model.dropout=0.1", "optimizer.lr=0.5", "train.batch=8", "parallel.tp=2"})
    EXPECT_EQ(kept_by_run(with(set)), mine) << set;
}

TEST(Agreement, TellsTheFirstDifference) {
  EXPECT_EQ(difference("a: 1\nb: 2\n", "a: 1\nb: 2\n"), "");
  EXPECT_EQ(difference("a: 1\nb: 2\nc: 3\n", "a: 1\nb: 4\nc: 5\n"), "b: 2, not 4");
  EXPECT_EQ(difference("a: 1\n", "a: 1\nb: 2\n"), ", not b: 2");
  EXPECT_EQ(difference("a: 1\nb: 2\n", "a: 1\n"), "b: 2, not ");
}

}  // namespace
}  // namespace shoal::config

// What the engine cannot run is refused with its reason, and what it can run is not.

#include "shoal/plan/composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::plan {
namespace {

using config::Problem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Matcher;
using tests::error_text;

using Sets = std::vector<std::string>;

std::vector<Problem> problems(int ranks, const Sets& sets) {
  return why_not(config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}}),
                 ranks);
}

Matcher<Problem> refusal(const std::string& where, const std::string& what) {
  return AllOf(Field(&Problem::where, where), Field(&Problem::what, HasSubstr(what)),
               Field(&Problem::hint, ::testing::Not(IsEmpty())));
}

TEST(Composition, WhatTheGridProvesIsNotRefused) {
  EXPECT_THAT(problems(1, {}), IsEmpty());
  EXPECT_THAT(problems(8, {"parallel.tp=2", "parallel.pp=2", "train.micro_batch=1"}), IsEmpty());
  EXPECT_THAT(problems(4, {"parallel.pp=2", "parallel.schedule=interleaved", "parallel.chunks=3",
                           "train.micro_batch=1"}),
              IsEmpty());
  EXPECT_THAT(problems(2, {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"}),
              IsEmpty());
  EXPECT_THAT(problems(3, {"parallel.sharding=no_shard", "optimizer.kind=muon"}), IsEmpty());
  EXPECT_THAT(problems(3, {"parallel.sharding=optimizer", "optimizer.kind=muon"}), IsEmpty());
  EXPECT_THAT(problems(2, {"parallel.tp=2", "optimizer.kind=muon"}), IsEmpty());
  EXPECT_THAT(problems(2, {"parallel.pp=2", "optimizer.kind=muon"}), IsEmpty())
      << "one shard is whole, whatever it is called";
}

TEST(Composition, SequencesAreNotSplitYet) {
  EXPECT_THAT(problems(6, {"parallel.cp=3"}),
              ElementsAre(refusal("parallel.cp", "3: sequences cannot be split")));
}

TEST(Composition, MicroBatchesAreCountable) {
  EXPECT_THAT(problems(1, {"train.batch=65537", "train.micro_batch=1"}),
              ElementsAre(refusal("train.micro_batch", "65537 micro-batches")));
  EXPECT_THAT(problems(1, {"train.batch=65536", "train.micro_batch=1"}), IsEmpty());
}

TEST(Composition, HybridNeedsCopies) {
  EXPECT_THAT(problems(2, {"parallel.sharding=hybrid_shard"}),
              ElementsAre(refusal("parallel.sharding", "dp_replicate is 1")));
}

TEST(Composition, StagesNeedSomethingToDo) {
  EXPECT_THAT(problems(7, {"parallel.pp=7", "model.layers=5"}), IsEmpty());
  EXPECT_THAT(problems(7, {"parallel.pp=7", "model.layers=4"}),
              ElementsAre(refusal("parallel.pp", "at most 6 stages")));
  EXPECT_THAT(problems(3, {"parallel.pp=3", "parallel.schedule=interleaved", "parallel.chunks=3",
                           "model.layers=6"}),
              ElementsAre(refusal("parallel.pp", "6 blocks do not fill 9 stages")));
}

TEST(Composition, ChunksNeedAScheduleThatRunsThem) {
  EXPECT_THAT(problems(2, {"parallel.pp=2", "parallel.chunks=2"}),
              ElementsAre(refusal("parallel.chunks", "1f1b runs one stage of each rank")));
  EXPECT_THAT(problems(1, {"parallel.chunks=2"}),
              ElementsAre(refusal("parallel.chunks", "pp is 1")));
  EXPECT_THAT(problems(2, {"parallel.pp=2", "parallel.schedule=interleaved"}),
              ElementsAre(refusal("parallel.schedule", "chunks is 1")));
  EXPECT_THAT(problems(1, {"parallel.schedule=interleaved"}),
              ElementsAre(refusal("parallel.schedule", "pp is 1")));
}

TEST(Composition, AScheduleOfAFileIsReadAndChecked) {
  const tests::TempDir directory;
  const std::string file = (directory.path() / "mine.txt").string();
  const Sets sets = {"parallel.pp=2", "parallel.schedule=file", "train.batch=3",
                     "train.micro_batch=1"};
  EXPECT_THAT(problems(2, sets),
              ElementsAre(refusal("parallel.schedule_file", "no file is named")));
  Sets named = sets;
  named.push_back("parallel.schedule_file=" + file);
  EXPECT_THAT(problems(2, named), ElementsAre(refusal("parallel.schedule_file", "mine.txt")))
      << "there is no such file";
  write_file_atomically(file, "rank 0: F0 F1 B0 B1\nrank 1: F0 B0 F1 B1\n");
  EXPECT_THAT(problems(2, named),
              ElementsAre(refusal("parallel.schedule_file", "2 micro-batches, but this run has")));
  write_file_atomically(file, "rank 0: F0 B0 F1 B1 F2 B2\nrank 1: F1 F0 B0 B1 F2 B2\n");
  EXPECT_THAT(problems(2, named), ElementsAre(refusal("parallel.schedule_file", "never ends")));
  write_file_atomically(file, "rank 0: F0 F1 B0 F2 B1 B2\nrank 1: F0 B0 F1 B1 F2 B2\n");
  EXPECT_THAT(problems(2, named), IsEmpty());
  EXPECT_THAT(problems(1, {"parallel.schedule_file=" + file}),
              ElementsAre(refusal("parallel.schedule_file", "but schedule is 1f1b")));
}

TEST(Composition, EveryDataParallelRankNeedsASample) {
  const Sets sets = {"parallel.dp_replicate=2", "train.batch=5"};
  EXPECT_THAT(problems(4, sets), IsEmpty());
  EXPECT_THAT(problems(6, sets), ElementsAre(refusal("train.batch",
                                                     "5 sequences leave some of "
                                                     "the 6")));
  EXPECT_THAT(problems(6, {"parallel.tp=2", "parallel.pp=3", "train.batch=1"}), IsEmpty());
}

TEST(Composition, AllReasonsAreToldAtOnce) {
  const Sets sets = {"parallel.cp=2", "parallel.sharding=hybrid_shard", "parallel.chunks=2",
                     "parallel.tp=2", "train.batch=1"};
  EXPECT_THAT(problems(8, sets),
              ElementsAre(refusal("parallel.cp", "yet"), refusal("parallel.sharding", "copies"),
                          refusal("parallel.chunks", "pp is 1"), refusal("train.batch", "the 2")));
  const config::RunConfig config =
      config::load_or_throw({.sets = sets, .job = config::JobSize{8, 8}});
  EXPECT_THAT(error_text<UsageError>([&] { require_layout(config, 8); }),
              HasSubstr("this layout cannot be run on 8 ranks (4 problems)"));
}

}  // namespace
}  // namespace shoal::plan

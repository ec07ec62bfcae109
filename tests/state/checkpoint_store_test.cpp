#include "shoal/state/checkpoint_store.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_writer.h"

#include "tests/support/error_text.h"
#include "tests/support/no_more_files.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tests::error_text;
using tests::TempDir;

fs::path save(const fs::path& root, uint64_t step, const std::string& content = "abc") {
  const auto size = static_cast<int64_t>(content.size());
  CheckpointWriter writer(root, step, {{"t", DType::kU8, {size}, {{0}, {size}}}});
  writer.write(std::as_bytes(std::span(content)));
  return writer.commit({{"content", content}});
}

std::vector<uint64_t> steps_in(const fs::path& root) {
  std::vector<uint64_t> steps;
  for (const CommittedCheckpoint& one : checkpoints_in(root)) steps.push_back(one.step);
  return steps;
}

TEST(CheckpointStore, ListsByStepWhatHolds) {
  const TempDir dir;
  EXPECT_THAT(steps_in(dir / "none"), IsEmpty());
  EXPECT_FALSE(latest(dir / "none"));
  for (const uint64_t step : {1'000'000'000U, 200U, 1000U, 3U}) save(dir.path(), step);
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(3, 200, 1000, 1'000'000'000));
  // Names that are not ours, and a step that is another's.
  for (const char* name : {"step-5", "step-0000000005", "step-00000000x", "step-000000007.tmp-abc"})
    fs::copy(dir / "step-000000003", dir / name);
  fs::copy(dir / "step-000000003", dir / "step-000000008");
  write_file_atomically(dir / "step-000000009", "a file");
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(3, 200, 1000, 1'000'000'000));
  EXPECT_EQ(latest(dir.path())->path, dir / "step-1000000000");
  // The newest is damaged: the one before.
  fs::resize_file(dir / "step-1000000000" / kCheckpointManifest, 100);
  EXPECT_EQ(latest(dir.path())->step, 1000U);
  fs::resize_file(dir / "step-000001000" / "rank-00000-00000.safetensors", 100);
  EXPECT_EQ(latest(dir.path())->step, 200U);
}

// A run that resumed from step 2, because step 5 could not be read to its end.
TEST(CheckpointStore, PrunesNothingThatIsLaterThanTheRun) {
  const TempDir dir;
  for (const uint64_t step : {1U, 2U, 5U, 3U}) save(dir.path(), step);
  EXPECT_EQ(prune(dir.path(), {.keep = 1, .newest = 3}).size(), 2U);
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(3, 5));
}

TEST(CheckpointStore, PrunesAllButTheNewestAndTheBest) {
  const TempDir dir;
  for (const uint64_t step : {1U, 2U, 3U, 4U, 5U}) save(dir.path(), step);
  EXPECT_FALSE(best(dir.path()));
  mark_best(dir.path(), 4, 3.5);
  mark_best(dir.path(), 2, 2.1000000000000001);
  EXPECT_EQ(best(dir.path())->step, 2U);
  EXPECT_EQ(best(dir.path())->value, 2.1000000000000001);
  EXPECT_EQ(best(dir.path())->path, dir / "step-000000002");
  EXPECT_EQ(prune(dir.path(), {.keep = 9}).size(), 0U);
  EXPECT_EQ(prune(dir.path(), {.keep = 2}).size(), 2U);
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(2, 4, 5));
  // A damaged newest one does not count as kept.
  fs::remove(dir / "step-000000005" / kCheckpointManifest);
  prune(dir.path(), {.keep = 1});
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(2, 4));
  EXPECT_TRUE(fs::exists(dir / "step-000000005"));
  fs::remove_all(dir / "step-000000002");
  EXPECT_FALSE(best(dir.path()));
  EXPECT_THAT(error_text<DataError>([&] { mark_best(dir.path(), 2, 1); }),
              HasSubstr("step-000000002 cannot be marked as the best"));
  EXPECT_THAT(error_text<BugError>([&] { prune(dir.path(), {.keep = 0}); }),
              HasSubstr("only way to go on"));
}

TEST(CheckpointStore, KeepsEveryNthStepAsWell) {
  const TempDir dir;
  for (const uint64_t step : {0U, 7U, 14U, 15U, 20U, 21U, 30U}) save(dir.path(), step);
  mark_best(dir.path(), 15, 1);
  const std::vector<Judged> judged = judge(dir.path(), {.keep = 1, .every = 7});
  std::vector<std::string> why;
  for (const Judged& one : judged) why.push_back(one.why_kept);
  EXPECT_THAT(why, ElementsAre("a multiple of 7", "a multiple of 7", "a multiple of 7", "the best",
                               "", "a multiple of 7", "of the newest 1"));
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(0, 7, 14, 15, 20, 21, 30));
  EXPECT_EQ(prune(dir.path(), {.keep = 1, .every = 7}).front().step, 20U);
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(0, 7, 14, 15, 21, 30));
  prune(dir.path(), {.keep = 2, .every = 14});
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(0, 14, 15, 21, 30));
  prune(dir.path(), {.keep = 1});
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(15, 30));
}

TEST(CheckpointStore, ABestFileThatCannotBeReadStopsPruning) {
  const TempDir dir;
  for (const uint64_t step : {1U, 2U, 3U}) save(dir.path(), step);
  for (const char* text :
       {"", "{", "{}", R"({"step": 1})", R"({"step": -1, "value": 2})",
        R"({"step": 1, "value": "x"})", R"({"step": 9999999999999999, "value": 1})"}) {
    write_file_atomically(dir / "best.json", text);
    EXPECT_THAT(error_text<DataError>([&] { prune(dir.path(), {.keep = 1}); }),
                HasSubstr("remove it to forget which was the best"))
        << text;
  }
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(1, 2, 3));
}

// The best checkpoint is not forgotten, and pruned, because it could not be read for a while.
TEST(CheckpointStore, AFileSystemThatFailsIsNoReasonToPassACheckpointOver) {
  const TempDir dir;
  save(dir.path(), 1);
  mark_best(dir.path(), 1, 0.5);
  const auto failure_of = [](auto function) {
    std::optional<DataError> found;
    {
      const tests::NoMoreFiles fails;  // nor may sanitizers open what they look at types with
      try {
        function();
      } catch (const DataError& error) {
        found = error;
      }
    }
    if (!found) return ExitCode::kDone;
    EXPECT_THAT(found->what(), Not(HasSubstr("remove it")));
    return found->exit_code();
  };
  EXPECT_EQ(failure_of([&] { mark_best(dir.path(), 1, 0.4); }), ExitCode::kStorage);
  EXPECT_EQ(failure_of([&] { (void)best(dir.path()); }), ExitCode::kStorage);
  EXPECT_EQ(failure_of([&] { (void)checkpoints_in(dir.path()); }), ExitCode::kStorage);
  EXPECT_EQ(best(dir.path()).value().value, 0.5);
}

TEST(CheckpointStore, RemovesOnlyWhatIsUnfinished) {
  const TempDir dir;
  save(dir.path(), 1);
  for (const char* name : {"step-000000002.tmp-abcdef", "step-000000001.tmp-removed", "mine.tmp-x"})
    fs::copy(dir / "step-000000001", dir / name);
  remove_unfinished(dir.path());
  remove_unfinished(dir / "none");
  EXPECT_THAT(steps_in(dir.path()), ElementsAre(1));
  EXPECT_TRUE(fs::exists(dir / "mine.tmp-x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 2);
}

TEST(CheckpointStore, ANewCheckpointOfAStepReplacesTheOld) {
  const TempDir dir;
  save(dir.path(), 1, "old");
  save(dir.path(), 1, "newer");
  EXPECT_EQ(Checkpoint(latest(dir.path())->path).values().at("content"), "newer");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
  (void)verify(dir / "step-000000001");
}

TEST(CheckpointStore, AWriterThatIsNotCommittedLeavesNothing) {
  const TempDir dir;
  {
    CheckpointWriter writer(dir.path(), 1, {{"t", DType::kU8, {1}, {{0}, {1}}}});
    writer.write(std::as_bytes(std::span("x", 1)));
    EXPECT_THAT(steps_in(dir.path()), IsEmpty());
    EXPECT_FALSE(fs::is_empty(dir.path()));
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

}  // namespace
}  // namespace shoal::state

#include "shoal/metrics/follow.h"

#include <cmath>
#include <limits>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/temp_dir.h"

namespace shoal::metrics {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int64_t> steps_of(const std::vector<StepRecord>& records) {
  std::vector<int64_t> steps;
  for (const StepRecord& record : records) steps.push_back(record.step);
  return steps;
}

StepRecord full(int64_t step) {
  return {.step = step,
          .tokens = 12345678901,
          .loss = 0.1,
          .val_loss = std::numeric_limits<double>::infinity(),
          .perplexity = 3e38,
          .lr = 3e-4,
          .grad_norm = 5e-324,
          .skipped_steps = 2,
          .dt = 1.0 / 3,
          .dtf = 0.25,
          .dtb = 0.5,
          .samples_per_second = 3,
          .tokens_per_second = 4,
          .tokens_per_second_per_device = 5,
          .mfu = 0.41,
          .memory_bytes = 123,
          .startup_seconds = 9,
          .time_left = 7};
}

TEST(RecordOf, ReadsBackEveryField) {
  const tests::TempDir dir;
  Jsonl sink(dir.path());
  sink.write(full(17));
  sink.write({.step = 18, .loss = std::numeric_limits<double>::quiet_NaN()});
  const std::vector<StepRecord> read = Follower(dir.path()).read().records;
  ASSERT_EQ(read.size(), 2U);
  for (const Field& field : fields()) {
    ASSERT_TRUE(field.of(read[0])) << field.name;
    EXPECT_EQ(exact(*field.of(read[0])), exact(*field.of(full(17)))) << field.name;
  }
  EXPECT_TRUE(std::isnan(read[1].loss));
  EXPECT_FALSE(read[1].mfu);
}

TEST(RecordOf, TakesWhatNoSumCanHoldForInfinite) {
  const auto record = record_of(R"({"step":1,"loss":-1.7e308,"dt":3.4e38})");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->loss, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(record->dt, 3.4e38);
}

TEST(RecordOf, RefusesWhatJsonlDoesNotWrite) {
  EXPECT_FALSE(record_of(""));
  EXPECT_FALSE(record_of(R"({"loss":4})"));
  EXPECT_FALSE(record_of(R"({"step":1,"loss":"four"})"));
  EXPECT_FALSE(record_of(R"({"step":1,"loss":[4]})"));
  EXPECT_FALSE(record_of(R"({"step":1,"loss":4)"));
  EXPECT_FALSE(record_of(R"({"step":99999999999999999999,"loss":4})"));
  EXPECT_TRUE(record_of(R"({"step":1,"loss":4,"of_a_later_version":[1]})"));
  EXPECT_FALSE(text_of(R"({"step":1,"tag":"sample"})"));
}

TEST(Follower, ReadsEachRowOnceAndWaitsForItsEnd) {
  const tests::TempDir dir;
  Follower follower(dir.path());
  EXPECT_THAT(follower.read().records, IsEmpty()) << "before there is a file";
  Jsonl sink(dir.path());
  for (int64_t step = 1; step <= 3; ++step) sink.write({.step = step});
  sink.text(3, "sample", "\"two\"\nlines\x1b");
  const Follower::New first = follower.read();
  EXPECT_THAT(steps_of(first.records), ElementsAre(1, 2, 3));
  ASSERT_EQ(first.texts.size(), 1U);
  EXPECT_EQ(first.texts[0].text, "\"two\"\nlines\x1b");
  RowFile(dir / "metrics.jsonl").append(R"({"step":4,"lo)");
  EXPECT_THAT(follower.read().records, IsEmpty());
  RowFile(dir / "metrics.jsonl").append("ss\":4}\n");
  EXPECT_THAT(steps_of(follower.read().records), ElementsAre(4));
  EXPECT_FALSE(first.records_restarted);
}

// The file is longer than before when the follower looks again.
TEST(Follower, BeginsAnewWhenARunResumes) {
  const tests::TempDir dir;
  Follower follower(dir.path());
  {
    Jsonl sink(dir.path());
    for (int64_t step = 1; step <= 5; ++step) sink.write({.step = step, .loss = 5});
  }
  follower.read();
  Jsonl resumed(dir.path(), /*continue_from_step=*/4);
  for (int64_t step = 4; step <= 9; ++step) resumed.write({.step = step, .loss = 3});
  const Follower::New news = follower.read();
  EXPECT_TRUE(news.records_restarted);
  EXPECT_FALSE(news.texts_restarted);
  EXPECT_THAT(steps_of(news.records), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Follower, ReadsMoreThanAChunk) {
  const tests::TempDir dir;
  Jsonl sink(dir.path());
  constexpr int64_t kSteps = 7001;
  for (int64_t step = 1; step <= kSteps; ++step) sink.write(full(step));
  ASSERT_GT(std::filesystem::file_size(dir / "metrics.jsonl"), 2U << 20);
  EXPECT_EQ(Follower(dir.path()).read().records.size(), static_cast<size_t>(kSteps));
}

// Nobody writes to it: whoever opens it as a file waits for ever.
TEST(Follower, RefusesAPipe) {
  const tests::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "metrics.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(Follower(dir.path()).read(), DataError);
}

TEST(Follower, RefusesALineWithoutEnd) {
  const tests::TempDir dir;
  RowFile(dir / "metrics.jsonl").append(std::string(17 << 20, 'x'));
  EXPECT_THROW(Follower(dir.path()).read(), DataError);
}

}  // namespace
}  // namespace shoal::metrics

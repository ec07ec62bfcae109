#include "shoal/metrics/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::metrics {
namespace {

using testing::HasSubstr;
using tests::error_text;

RankTrace small_trace() {
  RankTrace trace{.rank = 3, .name = "rank 3 on \"n2\", pp 1", .lanes = {"compute", "dp_shard"}};
  trace.slices = {
      {.kind = SliceKind::kStep, .name = "step", .begin = 1'000, .end = 10'001'000},
      {.kind = SliceKind::kData, .name = "wait for data", .begin = 1'000, .end = 1'001'000},
      {.name = "forward blocks.3",
       .begin = 1'001'000,
       .end = 6'001'000,
       .line = 17,
       .micro_batch = 2},
      {.kind = SliceKind::kWait,
       .name = "wait for tp",
       .begin = 2'001'000,
       .end = 3'001'000,
       .group = "tp"},
      {.name = "await gather blocks.4", .begin = 6'001'000, .end = 9'001'000, .line = 18},
      {.kind = SliceKind::kWait,
       .name = "wait for dp_shard",
       .begin = 6'001'000,
       .end = 8'001'000,
       .group = "dp_shard"},
      {.kind = SliceKind::kCall,
       .lane = 1,
       .name = "gather blocks.4",
       .begin = 5'000,
       .end = 8'001'000,
       .bytes = 77,
       .group = "dp_shard"}};
  return trace;
}

TEST(StepTrace, IsReadBackAsWhereTheTimeWent) {
  const tests::TempDir directory;
  const std::filesystem::path file = directory.path() / trace_name(10);
  EXPECT_EQ(file.filename(), "trace-step-000010.json");
  write_file_atomically(file, trace_file({.step = 10, .ranks = 5, .clock_error_us = 41.5},
                                         {"", events_of(small_trace())}));
  const TraceSummary summary = read_trace(file);
  EXPECT_EQ(summary.step, 10);
  EXPECT_DOUBLE_EQ(summary.clock_error_us, 41.5);
  ASSERT_EQ(summary.ranks.size(), 1U);
  const StepShares& shares = summary.ranks.front();
  EXPECT_EQ(shares.rank, 3);
  EXPECT_EQ(shares.name, "rank 3 on \"n2\", pp 1");
  EXPECT_NEAR(shares.step, 0.010, 1e-9);
  EXPECT_NEAR(shares.data, 0.001, 1e-9);
  EXPECT_NEAR(shares.compute, 0.005, 1e-9);  // 5 and 3 ms, without 1 and 2 of waiting
  EXPECT_NEAR(shares.waits.at("tp"), 0.001, 1e-9);
  EXPECT_NEAR(shares.waits.at("dp_shard"), 0.002, 1e-9);
  EXPECT_NEAR(shares.between, 0.001, 1e-9);
}

TEST(StepTrace, OfNobodyIsAFileToo) {
  const tests::TempDir directory;
  write_file_atomically(directory.path() / "empty.json", trace_file({.step = 1}, {"", ""}));
  EXPECT_TRUE(read_trace(directory.path() / "empty.json").ranks.empty());
}

TEST(StepTrace, OtherFilesAreRefused) {
  const tests::TempDir directory;
  const std::filesystem::path file = directory.path() / "trace-step-000001.json";
  const auto refusal = [&](const std::string& content) {
    write_file_atomically(file, content);
    return error_text<DataError>([&] { read_trace(file); });
  };
  const auto with_event = [](const std::string& event) {
    return "{\"otherData\":{\"step\":1,\"clock_error_us\":0,\"slices_left_out\":0},\"traceEvents\":"
           "[" +
           event + "]}";
  };
  EXPECT_THAT(refusal(""), HasSubstr("trace-step-000001.json"));
  EXPECT_THAT(refusal("[]"), HasSubstr("trace-step-000001.json"));
  EXPECT_THAT(refusal("{\"traceEvents\":[]}"), HasSubstr("otherData"));
  EXPECT_THAT(refusal(with_event("7")), HasSubstr("traceEvents"));
  EXPECT_THAT(refusal(with_event("{\"ph\":\"X\",\"pid\":-1}")), HasSubstr("pid"));
  for (const char* duration : {"-1", "1e300", "\"x\"", "null"})
    EXPECT_THAT(refusal(with_event("{\"ph\":\"X\",\"pid\":1,\"cat\":\"step\",\"dur\":" +
                                   std::string(duration) + "}")),
                HasSubstr("dur"))
        << duration;
}

TEST(StepTrace, TheLatestOfARunIsFound) {
  const tests::TempDir directory;
  EXPECT_EQ(latest_trace(directory.path(), 9'999'999), std::nullopt);
  EXPECT_EQ(latest_trace(directory.path() / "nowhere", 9'999'999), std::nullopt);
  for (const int64_t step : {999'999, 7, 1'000'000})
    write_file_atomically(directory.path() / trace_name(step), "");
  for (const char* other :
       {"trace-step-9.json.part", "trace-step-.json", "trace-step-8x.json", "trace-step-.jso"})
    write_file_atomically(directory.path() / other, "");
  EXPECT_EQ(latest_trace(directory.path(), 1'000'000)->filename(), "trace-step-1000000.json");
  EXPECT_EQ(latest_trace(directory.path(), 1'000)->filename(), "trace-step-000007.json")
      << "of steps that still count";
  EXPECT_EQ(latest_trace(directory.path(), 6), std::nullopt);
}

}  // namespace
}  // namespace shoal::metrics

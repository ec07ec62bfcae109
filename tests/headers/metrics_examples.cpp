#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/files.h"
#include "shoal/metrics/console_line.h"
#include "shoal/metrics/event_proto.h"
#include "shoal/metrics/follow.h"
#include "shoal/metrics/live_view.h"
#include "shoal/metrics/loss_curve.h"
#include "shoal/metrics/prometheus_text.h"
#include "shoal/metrics/row_file.h"
#include "shoal/metrics/shown.h"
#include "shoal/metrics/sink.h"
#include "shoal/metrics/step_record.h"
#include "shoal/metrics/step_trace.h"
#include "shoal/metrics/terminal.h"

namespace shoal::metrics {
namespace {

// shoal/metrics/console_line.h
TEST(HeaderExamples, ConsoleLine) {
  const Console console;
  ConsoleLine line(console);
  line.add("running", Colour::kGreen);
  line.add("704/2000");
  line.text();
  EXPECT_EQ(line.text(), "running  704/2000");
}

// shoal/metrics/event_proto.h
void event_proto(RowFile& file, double now, int64_t step) {
  file.append(framed(scalars_event(now, step, {{.tag = "loss/loss", .value = 4.5F}})));
}

// shoal/metrics/follow.h
void follow(LiveView& view, int64_t total_steps) {
  Follower follower("runs/small");
  const Follower::New news = follower.read();
  if (news.records_restarted) view = LiveView(total_steps);
  for (const StepRecord& record : news.records) view.add(record);
}

// shoal/metrics/loss_curve.h
void loss_curve(const std::vector<StepRecord>& records) {
  LossCurve curve;
  for (const StepRecord& record : records) curve.add(record.loss);
  curve.sparkline(24, /*utf8=*/true);
}

// shoal/metrics/step_record.h
TEST(HeaderExamples, StepRecord) {
  StepRecord record{.step = 100, .loss = 4.5};
  int absent = 0;
  for (const Field& field : fields()) {
    if (const std::optional<Number> number = field.of(record)) {
      EXPECT_TRUE(finite(*number));
    } else {
      ++absent;
    }
  }
  EXPECT_GT(absent, 0);
}

// shoal/metrics/prometheus_text.h
void prometheus_text(const StepRecord& record) {
  PrometheusText text("small");
  text.set(record);
  text.set("restarts", "restarts of the job before this process", int64_t{2});
  text.page();
}

// shoal/metrics/step_trace.h
void step_trace(const std::filesystem::path& path) {
  RankTrace mine{.rank = 3, .name = "rank 3 on n2, pp 1 tp 0", .lanes = {"compute", "dp_shard"}};
  mine.slices.push_back({.name = "forward blocks.3", .begin = 12'500, .end = 40'000, .line = 17});
  write_file_atomically(path, trace_file({.step = 10, .ranks = 1}, {events_of(mine)}));
}

// shoal/metrics/row_file.h
std::optional<int64_t> step_of(std::string_view line) { return line.empty() ? 0 : 100; }

void row_file() {
  RowFile rows("metrics.jsonl");
  rows.cut(100, [](std::string_view line) { return step_of(line); });
  rows.append("{\"step\":100}\n");
}

// shoal/metrics/shown.h
TEST(HeaderExamples, Shown) {
  EXPECT_EQ(shown(4.123456, Show::kLoss), "4.1235");
  EXPECT_EQ(shown(0.0003, Show::kPower), "3.00e-4");
}

// shoal/metrics/sink.h
void sink(const StepRecord& record) {
  Sinks sinks = open_files("runs/small", /*continue_from_step=*/0);
  sinks.add(std::make_unique<Terminal>(STDOUT_FILENO, TerminalOptions{.total_steps = 1000}));
  sinks.write(record);
  sinks.text(100, "sample", "Once upon a time");
  sinks.flush();
}

}  // namespace
}  // namespace shoal::metrics

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/metrics/event_proto.h"
#include "shoal/metrics/row_file.h"
#include "shoal/metrics/shown.h"
#include "shoal/metrics/sink.h"
#include "shoal/metrics/step_record.h"
#include "shoal/metrics/terminal.h"

namespace shoal::metrics {
namespace {

// shoal/metrics/event_proto.h
void event_proto(RowFile& file, double now, int64_t step) {
  file.append(framed(scalars_event(now, step, {{.tag = "loss/loss", .value = 4.5F}})));
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

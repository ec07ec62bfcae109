#include "shoal/metrics/prometheus_text.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PrometheusText, HasEveryFigureThatIsKnown) {
  PrometheusText text("small");
  text.set(StepRecord{.step = 7, .loss = 4.25, .memory_bytes = int64_t{1} << 53});
  const std::string page = text.page();
  EXPECT_THAT(page, HasSubstr("# TYPE shoal_loss gauge\nshoal_loss{run=\"small\"} 4.25\n"));
  EXPECT_THAT(page, HasSubstr("shoal_memory_bytes{run=\"small\"} 9007199254740992\n"));
  EXPECT_THAT(page, HasSubstr("shoal_dt_seconds{"));
  EXPECT_THAT(page, Not(HasSubstr("val_loss")));
}

TEST(PrometheusText, KeepsWhatALaterRecordLacks) {
  PrometheusText text("small");
  text.set(StepRecord{.step = 7, .loss = 4, .val_loss = 4.5});
  text.set(StepRecord{.step = 8,
                      .loss = std::numeric_limits<double>::quiet_NaN(),
                      .grad_norm = -std::numeric_limits<double>::infinity()});
  const std::string page = text.page();
  EXPECT_THAT(page, HasSubstr("shoal_val_loss{run=\"small\"} 4.5\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step{run=\"small\"} 8\n"));
  EXPECT_THAT(page, HasSubstr("shoal_loss{run=\"small\"} NaN\n"));
  EXPECT_THAT(page, HasSubstr("shoal_grad_norm{run=\"small\"} -Inf\n"));
}

TEST(PrometheusText, NamesOfRunsDoNotBreakOut) {
  PrometheusText text("a\"} 1\nb\\\xff");
  text.set("restarts", "restarts", int64_t{2});
  EXPECT_THAT(text.page(), HasSubstr("shoal_restarts{run=\"a\\\"} 1\\nb\\\\\xef\xbf\xbd\"} 2\n"));
}

}  // namespace
}  // namespace shoal::metrics

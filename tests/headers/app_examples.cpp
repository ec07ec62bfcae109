#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/format.h"
#include "shoal/state/checkpoint.h"

#include "app/arguments.h"
#include "app/byte_progress.h"
#include "app/cluster_file.h"
#include "app/progress_line.h"
#include "app/report.h"

namespace shoal::app {
namespace {

// app/arguments.h
int arguments(const std::vector<std::string>& words) {
  int ranks = 0;
  Arguments arguments("shoal launch", "Start the ranks of this host.");
  arguments.option("--ranks", ranks, "ranks to start", {.shown = "N", .required = true});
  if (!arguments.parse(words)) return 0;
  return ranks;
}

TEST(HeaderExamples, Arguments) { EXPECT_EQ(arguments({"--ranks", "4"}), 4); }

// app/byte_progress.h
void byte_progress(const std::filesystem::path& path) {
  ByteProgress shown("verify");
  state::verify(path, shown.progress());
}

// app/cluster_file.h
void cluster_file() {
  config::ClusterConfig cluster = cluster_to_update("own.yaml");
  cluster.node.latency_us = rounded(12.345678);
  save_measured(cluster, "own.yaml", "shoal bench comm", "2 ranks on one host");
}

TEST(HeaderExamples, RoundedHasFourDigits) {
  EXPECT_EQ(rounded(12.345678), 12.35);
  EXPECT_EQ(rounded(0.000123456), 0.0001235);
  EXPECT_EQ(rounded(-123456), -123500);
  EXPECT_EQ(rounded(0), 0);
}

// app/progress_line.h
void progress_line(int done, int total) {
  ProgressLine line([&] { return format("{} of {}", done, total); });
}

// app/report.h
TEST(HeaderExamples, Report) {
  Report report;
  report.section("host").add("name", "n1").add("cores", 2);
  EXPECT_EQ(report.text(), "host\n  name               n1\n  cores              2\n");
  EXPECT_EQ(report.json(), "{\n  \"host\": {\n    \"name\": \"n1\",\n    \"cores\": 2\n  }\n}\n");
}

}  // namespace
}  // namespace shoal::app

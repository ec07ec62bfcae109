#include "shoal/config/cluster_config.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/source_dir.h"
#include "tests/support/temp_dir.h"

namespace shoal::config {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string refusal(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
  try {
    load_cluster(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ClusterConfig, EveryShippedFileLoads) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(tests::source_dir() / "clusters")) {
    const ClusterConfig cluster = load_cluster(entry.path());
    EXPECT_NE(cluster.device.name, DeviceSpec().name) << entry.path();
    EXPECT_GT(cluster.device.bf16_tflops, cluster.device.fp32_tflops) << entry.path();
    // A link inside a node is no slower than one between nodes.
    EXPECT_GE(cluster.node.gb_per_s, cluster.network.gb_per_s) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 9);
}

TEST(ClusterConfig, IsWrittenAsItWasRead) {
  const tests::TempDir directory;
  const fs::path file = directory.path() / "own.yaml";
  ClusterConfig cluster = load_cluster(tests::source_dir() / "clusters" / "h100.yaml");
  cluster.device.name = "a: \"strange\" name # here";
  cluster.device.bf16.products_share = 0.71;
  cluster.device.bf16.attention = {{0.001, 0.37, 5}, {101, 203.5, 400}};
  save_cluster(cluster, file, "bench gemm", "first");
  const ClusterConfig again = load_cluster(file);
  EXPECT_EQ(to_yaml(table_of(cluster)), to_yaml(table_of(again)));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
}

TEST(ClusterConfig, KeepsTheCommentAtItsHead) {
  const tests::TempDir directory;
  const fs::path file = directory.path() / "own.yaml";
  std::ofstream(file) << "# The cluster of room 7.\n#\n# bench gemm: yesterday\n# bench comm: "
                         "yesterday\ndevices_per_node: 3\n";
  save_cluster(load_cluster(file), file, "bench gemm", "today,\nin the rain");
  EXPECT_THAT(read_file(file, 1 << 20),
              testing::StartsWith("# The cluster of room 7.\n#\n# bench comm: yesterday\n"
                                  "# bench gemm: today, in the rain\ndevice:\n"));
  EXPECT_EQ(load_cluster(file).devices_per_node, 3);
}

TEST(ClusterConfig, CurvesAreChecked) {
  const tests::TempDir directory;
  const fs::path file = directory.path() / "wrong.yaml";
  const auto with = [&](const std::string& curve) {
    return refusal(file, "device: {fp32: {functions: {" + curve + "}}}\n");
  };
  EXPECT_EQ(with("sizes: [1, 2], rates: [3, 4]"), "");
  EXPECT_THAT(with("sizes: [1, 2], rates: [3]"), HasSubstr("2 sizes and 1 rates"));
  EXPECT_THAT(with("sizes: [1, 1], rates: [3, 4]"), HasSubstr("ascending"));
  EXPECT_THAT(with("sizes: [2, 1], rates: [3, 4]"), HasSubstr("device.fp32.functions"));
  EXPECT_THAT(with("sizes: [0, 1], rates: [3, 4]"), HasSubstr("sizes"));
  EXPECT_THAT(with("sizes: [1, 2], rates: [3, -4]"), HasSubstr("rates"));
  EXPECT_THAT(with("sizes: [1, .nan], rates: [3, 4]"), HasSubstr("sizes"));
  EXPECT_THAT(with("sizes: 1, rates: [3]"), HasSubstr("list"));
  std::string many = "1";
  for (int i = 2; i < 100; ++i) many += ", " + std::to_string(i);
  EXPECT_THAT(with("sizes: [" + many + "], rates: [" + many + "]"), HasSubstr("at most 64"));
}

TEST(ClusterConfig, EveryCurveOfAPrecisionIsChecked) {
  const tests::TempDir directory;
  const fs::path file = directory.path() / "wrong.yaml";
  for (const char* const name : {"attention", "functions", "gated_functions", "head_functions"}) {
    const std::string wrong = std::string(name) + ": {sizes: [1], rates: []}";
    EXPECT_THAT(refusal(file, "device: {bf16: {" + wrong + "}}\n"),
                HasSubstr(std::string("device.bf16.") + name));
  }
}

TEST(MeasuredSpec, HasRatesForEachKindOfUnit) {
  MeasuredSpec measured;
  measured.functions = {{1}, {10}};
  const auto rate = [&](UnitKind unit, Activation activation) {
    return measured.functions_of(unit, activation).at(1);
  };
  EXPECT_EQ(rate(UnitKind::kBlock, Activation::kSwiglu), 10);
  EXPECT_EQ(rate(UnitKind::kHead, Activation::kGelu), 10);
  measured.gated_functions = {{1}, {5}};
  measured.head_functions = {{1}, {20}};
  EXPECT_EQ(rate(UnitKind::kBlock, Activation::kGelu), 10);
  EXPECT_EQ(rate(UnitKind::kBlock, Activation::kSwiglu), 5);
  EXPECT_EQ(rate(UnitKind::kEmbedding, Activation::kSwiglu), 10);
  EXPECT_EQ(rate(UnitKind::kHead, Activation::kSwiglu), 20);
}

TEST(ClusterConfig, RefusesWhatIsNoCluster) {
  const tests::TempDir directory;
  const fs::path file = directory.path() / "wrong.yaml";
  EXPECT_NE(refusal(file, "device: {memory_gb: -1}\n"), "");
  EXPECT_NE(refusal(file, "device: {memory_gb: inf}\n"), "");
  EXPECT_NE(refusal(file, "node: {device_share: 1.5}\n"), "");
  EXPECT_NE(refusal(file, "devices_per_node: 0\n"), "");
  EXPECT_NE(refusal(file, "- a list\n"), "");
  EXPECT_NE(refusal(file, "device: &a {name: x}\nnode: *a\n"), "");
  EXPECT_NE(refusal(file, std::string("device: {name: \"\0\"}\n", 20)), "");
  EXPECT_NE(refusal(file, std::string(2 << 20, '#')), "");
  EXPECT_THROW(load_cluster(directory.path()), UsageError);
}

TEST(Curve, IsAPowerLawBetweenItsPoints) {
  const Curve curve{{1, 100, 1e4}, {10, 1000, 10}};
  EXPECT_DOUBLE_EQ(curve.at(1e-3), 10);
  EXPECT_DOUBLE_EQ(curve.at(1), 10);
  EXPECT_NEAR(curve.at(10), 100, 1e-9);
  EXPECT_NEAR(curve.at(100), 1000, 1e-9);
  EXPECT_NEAR(curve.at(1000), 100, 1e-9);
  EXPECT_DOUBLE_EQ(curve.at(1e9), 10);
}

}  // namespace
}  // namespace shoal::config

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/agreement.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/field_list.h"
#include "shoal/config/load.h"
#include "shoal/config/run_config.h"
#include "shoal/config/tensor_parallel.h"
#include "shoal/config/value.h"
#include "shoal/core/error.h"

namespace shoal::config {

// shoal/config/value.h
enum class Animal { kCat, kDog };
template <>
inline constexpr std::array kNames<Animal> = {Named{"cat", Animal::kCat},
                                              Named{"dog", Animal::kDog}};

namespace {

TEST(HeaderExamples, Value) { EXPECT_EQ(write_value(Animal::kDog), "dog"); }

// shoal/config/field.h
TEST(HeaderExamples, Field) {
  RunConfig config;
  const Table table = table_of(config);
  EXPECT_EQ(find_entry(table, "parallel.tp")->field->write(), "1");
}

struct S {
  int steps = 0;
};

void list_fields(S& config, FieldList& list) {
  list.add("steps", config.steps, "updates of the weights", at_least(0));
}

// shoal/config/agreement.h
void agreement(const RunConfig& config, const std::string& mine, const std::string& theirs) {
  shared_by_ranks(config);
  difference(mine, theirs);
}

// shoal/config/load.h
void load_file() {
  const RunConfig config = load_or_throw({.file = "a.yaml", .sets = {"parallel.tp=2"}});
}

// shoal/config/run_config.h
void run_config() {
  const RunConfig config = load_or_throw({.file = "a.yaml", .sets = {"parallel.tp=2"}});
  config.parallel.tp;
}

// shoal/config/tensor_parallel.h
void tensor_parallel(const RunConfig& config) {
  if (const auto reason = why_not_tensor_parallel(config.model, 3)) throw UsageError(*reason);
}

// shoal/config/cluster_config.h
void cluster_of_a_file() {
  const ClusterConfig cluster = load_cluster("clusters/h100.yaml");
  cluster.device.peak(Precision::kBf16);
  save_cluster(cluster, "clusters/own.yaml", "bench comm", "8 ranks on 2 hosts");
}

}  // namespace
}  // namespace shoal::config

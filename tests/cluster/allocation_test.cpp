#include "shoal/cluster/allocation.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using Variables = std::map<std::string, std::string>;

std::optional<Allocation> allocation_in(const Variables& variables) {
  const Environment environment(variables);
  return allocation_of(environment, detect_membership(environment));
}

// The variables of a batch script, as Slurm 22.05 sets them.
Variables batch_script() {
  return {{"SLURM_JOB_ID", "7"},       {"SLURM_JOB_NODELIST", "n[1-3]"},
          {"SLURM_NTASKS", "6"},       {"SLURM_PROCID", "0"},
          {"SLURM_NODEID", "0"},       {"SLURM_LOCALID", "0"},
          {"SLURM_JOB_NUM_NODES", "3"}};
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

TEST(Allocation, OfABatchScript) {
  const auto given = allocation_in(with(batch_script(), {{"SLURM_NTASKS_PER_NODE", "2"}}));
  ASSERT_TRUE(given);
  EXPECT_THAT(given->hosts, ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(given->ranks, 2);
}

// A shell that salloc has started on the first node is a step with one node.
TEST(Allocation, OfAnInteractiveStep) {
  const auto given = allocation_in(
      with(batch_script(), {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NODELIST", "n1"}}));
  ASSERT_TRUE(given);
  EXPECT_THAT(given->hosts, ElementsAre("n1", "n2", "n3"));
}

TEST(Allocation, RanksAreGpusWhereNobodyAskedForTasks) {
  EXPECT_EQ(allocation_in(with(batch_script(), {{"SLURM_GPUS_ON_NODE", "4"}}))->ranks, 4);
  EXPECT_EQ(allocation_in(with(batch_script(), {{"SLURM_GPUS_PER_NODE", "a100:8"}}))->ranks, 8);
  EXPECT_EQ(allocation_in(with(batch_script(), {{"CUDA_VISIBLE_DEVICES", "0,1,2"}}))->ranks, 3);
}

TEST(Allocation, ATaskOfAStepHasNone) {
  const Variables task = {{"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_STEP_NUM_NODES", "3"},
                          {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"}};
  EXPECT_FALSE(allocation_in(with(batch_script(), task)));
  EXPECT_FALSE(allocation_in({}));
}

TEST(Allocation, OfPbs) {
  const tests::TempDir dir;
  const auto with_file = [&](const std::string& text) {
    std::ofstream(dir / "nodes") << text;
    return allocation_in({{"PBS_NODEFILE", (dir / "nodes").string()},
                          {"PBS_JOBID", "12.pbs"},
                          {"CUDA_VISIBLE_DEVICES", "0,1"}});
  };
  EXPECT_THAT(with_file("x1\nx1\nx1\nx2\nx2\nx2\n")->hosts, ElementsAre("x1", "x2"));
  EXPECT_EQ(with_file("x1\nx1\nx1\nx2\nx2\nx2\n")->ranks, 3);
  EXPECT_EQ(with_file("x1\nx2\n")->ranks, 2) << "one line is what PBS writes when nobody asked";
}

class Hostfile : public ::testing::Test {
 protected:
  Allocation read(const std::string& text) {
    std::ofstream(dir_ / "hosts") << text;
    return read_hostfile(dir_ / "hosts");
  }
  std::string refusal_of(const std::string& text) {
    return error_text<UsageError>([&] { read(text); });
  }
  tests::TempDir dir_;
};

TEST_F(Hostfile, HasAHostPerLine) {
  const Allocation given = read("# ours\nn1 slots=4\n\n  me@n2\tslots=4 # the other\r\n");
  EXPECT_THAT(given.hosts, ElementsAre("n1", "me@n2"));
  EXPECT_EQ(given.ranks, 4);
  EXPECT_EQ(read("n1:3\nn2:3").ranks, 3);
  EXPECT_EQ(read("n1\nn2").ranks, std::nullopt);
  EXPECT_THAT(read("fd00::1\nfd00::2").hosts, ElementsAre("fd00::1", "fd00::2"));
}

TEST_F(Hostfile, RefusesOtherLines) {
  EXPECT_THAT(refusal_of("n1\nn2 slots=two\n"), HasSubstr("hosts:2: 'n2 slots=two' is not HOST"));
  EXPECT_THAT(refusal_of("n1:0\n"), HasSubstr("is not HOST"));
  EXPECT_THAT(refusal_of("n1 slots=2 more\n"), HasSubstr("is not HOST"));
  EXPECT_THAT(refusal_of("n1:2 slots=2\n"), HasSubstr("is not HOST"));
  EXPECT_THAT(refusal_of("-oProxyCommand=x\n"), HasSubstr("is not HOST"));
  EXPECT_THAT(refusal_of("n1\nn1\n"), HasSubstr("hosts:2: host 'n1' stands there twice"));
  EXPECT_THAT(refusal_of("n1:2\nn2:3\n"), HasSubstr("all must have the same"));
  EXPECT_THAT(refusal_of("# none\n"), HasSubstr("names no host"));
}

}  // namespace
}  // namespace shoal::cluster

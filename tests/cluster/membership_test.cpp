#include "shoal/cluster/membership.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using Variables = std::map<std::string, std::string>;

Membership detect(Variables variables) {
  return detect_membership(Environment(std::move(variables)));
}

// What a real `srun -N3` task of a Slurm 22.05 cluster has in its environment.
Variables srun_task() {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", "4"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NODEID", "1"},
          {"SLURM_NTASKS", "7"},
          {"SLURM_STEP_NUM_TASKS", "7"},
          {"SLURM_STEP_NUM_NODES", "3"},
          {"SLURM_STEP_NODELIST", "n[1-3]"},
          {"SLURM_JOB_NODELIST", "n[1-4]"},
          {"SLURM_STEP_TASKS_PER_NODE", "3,2(x2)"}};
}

TEST(Membership, WithoutALauncherTheProcessIsAlone) {
  const Membership me = detect({{"HOME", "/root"}});
  EXPECT_EQ(me.launcher, "none");
  EXPECT_EQ(me.world_size, 1);
  EXPECT_EQ(me.rank, 0);
}

TEST(Membership, ReadsSlurm) {
  const Membership me = detect(srun_task());
  EXPECT_EQ(me.launcher, "slurm");
  EXPECT_EQ(me.scheduler, "slurm");
  EXPECT_EQ(me.rank, 4);
  EXPECT_EQ(me.world_size, 7);
  EXPECT_EQ(me.local_rank, 1);
  EXPECT_EQ(me.local_size, 2);
  EXPECT_EQ(me.node, 1);
  EXPECT_EQ(me.num_nodes, 3);
  EXPECT_THAT(me.hosts, ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(me.store_host, "n1");
  EXPECT_EQ(me.store_port, std::nullopt);
  EXPECT_EQ(me.job, "slurm.17.0.0");
}

TEST(Membership, ARequeuedSlurmJobIsAnotherJob) {
  Variables variables = srun_task();
  variables["SLURM_RESTART_COUNT"] = "2";
  EXPECT_EQ(detect(variables).job, "slurm.17.0.2")
      << "a straggler of the first start must not join the second";
  EXPECT_EQ(detect(variables).restarts, 2);
  variables["SHOAL_RESTART_COUNT"] = "3";
  EXPECT_EQ(detect(variables).restarts, 5) << "by the launcher inside the job, too";
}

TEST(Membership, ABatchScriptIsNotATask) {
  Variables variables = srun_task();
  variables.erase("SLURM_STEP_ID");  // sbatch sets SLURM_PROCID and SLURM_NTASKS without a step
  EXPECT_EQ(detect(variables).launcher, "none");
  EXPECT_EQ(detect(variables).world_size, 1);
  EXPECT_EQ(detect(variables).scheduler, "slurm");
  variables["SLURM_STEP_ID"] = "4294967290";  // the interactive step of salloc
  EXPECT_EQ(detect(variables).launcher, "none");
}

TEST(Membership, ReadsTorchrun) {
  Variables variables = {{"RANK", "5"},           {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"},
                         {"GROUP_RANK", "1"},     {"MASTER_ADDR", "10.0.0.7"},
                         {"MASTER_PORT", "29500"}};
  const Membership me = detect(variables);
  EXPECT_EQ(me.launcher, "torchrun");
  EXPECT_EQ(me.rank, 5);
  EXPECT_EQ(me.node, 1);
  EXPECT_EQ(me.num_nodes, 2);
  EXPECT_EQ(me.store_host, "10.0.0.7");
  EXPECT_EQ(me.store_port, 29500);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(detect(variables).store_port, std::nullopt) << "torchrun's agent has that port";
}

TEST(Membership, ReadsOpenMpiBeforeTheSchedulerItRunsUnder) {
  Variables variables = srun_task();  // mpirun's daemons are tasks of a step; the ranks are not
  variables.merge(Variables{{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "6"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "3141592"}});
  const Membership me = detect(variables);
  EXPECT_EQ(me.launcher, "openmpi");
  EXPECT_EQ(me.scheduler, "slurm");
  EXPECT_EQ(me.rank, 2);
  EXPECT_EQ(me.world_size, 6);
  EXPECT_EQ(me.num_nodes, 3);
  EXPECT_EQ(me.node, 1);
  EXPECT_EQ(me.store_host, "n1");
  EXPECT_EQ(me.job, "openmpi.slurm.17.3141592");
}

TEST(Membership, ReadsPalsAndThePbsNodeFile) {
  const tests::TempDir dir;
  std::ofstream(dir / "nodes") << "x1\nx1\nx2\nx2\n";
  const Membership me = detect({{"PBS_JOBID", "99.pbs"},
                                {"PBS_NODEFILE", (dir / "nodes").string()},
                                {"PALS_RANKID", "3"},
                                {"PALS_LOCAL_RANKID", "1"},
                                {"PALS_NODEID", "1"},
                                {"PALS_APID", "abc"},
                                {"PMI_RANK", "3"},
                                {"PMI_SIZE", "4"},
                                {"PMI_LOCAL_SIZE", "2"}});
  EXPECT_EQ(me.launcher, "pals");
  EXPECT_EQ(me.scheduler, "pbs");
  EXPECT_EQ(me.rank, 3);
  EXPECT_EQ(me.world_size, 4);
  EXPECT_EQ(me.num_nodes, 2);
  EXPECT_EQ(me.node, 1);
  EXPECT_THAT(me.hosts, ElementsAre("x1", "x2"));
  EXPECT_EQ(me.store_host, "x1");
  EXPECT_EQ(me.job, "pals.pbs.99.pbs.abc");
}

TEST(Membership, ReadsHydra) {
  const Membership me = detect(
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "3"}});
  EXPECT_EQ(me.launcher, "hydra");
  EXPECT_EQ(me.rank, 1);
  EXPECT_EQ(me.store_host, "127.0.0.1");
  EXPECT_THAT(me.job, HasSubstr("parent-")) << "two such jobs on one host need different names";
}

TEST(Membership, ReadsShoalLaunch) {
  Variables variables = {{"SHOAL_RANK", "1"},       {"SHOAL_WORLD_SIZE", "4"},
                         {"SHOAL_LOCAL_RANK", "1"}, {"SHOAL_LOCAL_SIZE", "2"},
                         {"SHOAL_NODE", "0"},       {"SHOAL_NUM_NODES", "2"},
                         {"SHOAL_JOB", "j"},        {"SHOAL_STORE", "[fd00::1]:2345"}};
  EXPECT_EQ(detect(variables).store_host, "fd00::1");
  EXPECT_EQ(detect(variables).store_port, 2345);
  variables["SHOAL_STORE"] = "10.77.0.1:29400";
  EXPECT_EQ(detect(variables).store_host, "10.77.0.1");
  EXPECT_EQ(detect(variables).store_port, 29400);
  variables["SHOAL_STORE"] = "fd00::1";
  EXPECT_EQ(detect(variables).store_host, "fd00::1");
  EXPECT_EQ(detect(variables).store_port, std::nullopt);
  EXPECT_EQ(detect(variables).job, "j");
}

TEST(Membership, RefusesWrongVariablesByName) {
  const auto refusal = [](const Variables& changes) {
    Variables variables = srun_task();
    for (const auto& [name, value] : changes) variables[name] = value;
    return error_text<UsageError>([&] { detect(variables); });
  };
  EXPECT_THAT(refusal({{"SLURM_PROCID", "four"}}), HasSubstr("SLURM_PROCID is 'four'"));
  EXPECT_THAT(refusal({{"SLURM_PROCID", "-1"}}), HasSubstr("SLURM_PROCID is '-1'"));
  EXPECT_THAT(refusal({{"SLURM_PROCID", "99999999999"}}), HasSubstr("SLURM_PROCID"));
  EXPECT_THAT(refusal({{"SLURM_PROCID", "7"}}), HasSubstr("rank 7 of 7"));
  EXPECT_THAT(refusal({{"SLURM_LOCALID", ""}}), HasSubstr("SLURM_LOCALID is not set"));
  EXPECT_THAT(refusal({{"SLURM_NODEID", "3"}}), HasSubstr("SLURM_NODEID is 3"));
  EXPECT_THAT(refusal({{"SLURM_STEP_NODELIST", "n[1-"}}),
              AllOf(HasSubstr("SLURM_STEP_NODELIST"), HasSubstr("n[1-")));
  EXPECT_THAT(refusal({{"SLURM_STEP_NUM_TASKS", "9"}}), HasSubstr("adds up to 7"));
  EXPECT_THAT(refusal({{"MASTER_PORT", "70000"}}), HasSubstr("MASTER_PORT is 70000"));
  EXPECT_THAT(refusal({{"PBS_NODEFILE", "/no/such/file"}}), HasSubstr("PBS_NODEFILE"));
  EXPECT_THAT(error_text<UsageError>([] {
                detect({{"SHOAL_RANK", "0"},
                        {"SHOAL_WORLD_SIZE", "1"},
                        {"SHOAL_LOCAL_RANK", "0"},
                        {"SHOAL_LOCAL_SIZE", "1"},
                        {"SHOAL_NODE", "0"},
                        {"SHOAL_NUM_NODES", "1"},
                        {"SHOAL_STORE", "h:99999"}});
              }),
              HasSubstr("'h:99999' needs a port"));
}

TEST(Membership, RefusesHalfALauncher) {
  const auto refusal = [](const Variables& variables) {
    return error_text<UsageError>([&] { detect(variables); });
  };
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR is not"));
  EXPECT_THAT(refusal({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), HasSubstr("MPI_LOCALRANKID is not"));
  EXPECT_EQ(detect({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).launcher, "none");
  EXPECT_EQ(detect({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).launcher, "none");
  Variables several = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.9.9.9"}};
  EXPECT_THAT(refusal(several), HasSubstr("LOCAL_WORLD_SIZE is not set"));
  several["MASTER_ADDR"] = "127.0.0.1";
  EXPECT_EQ(detect(several).local_size, 2) << "nothing but one host can be meant";
}

TEST(Membership, RefusesRanksThatAreNotInBlocks) {
  const auto rank_1_of = [](const std::string& local_rank, const std::string& local_size) {
    return Variables{{"OMPI_COMM_WORLD_RANK", "1"},
                     {"OMPI_COMM_WORLD_SIZE", "4"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size}};
  };
  EXPECT_EQ(detect(rank_1_of("1", "2")).node, 0);
  for (const auto& [local_rank, local_size] : {std::pair{"0", "2"}, std::pair{"0", "3"}}) {
    EXPECT_THAT(
        error_text<UsageError>([&, a = local_rank, b = local_size] { detect(rank_1_of(a, b)); }),
        HasSubstr("place them in equal blocks"));
  }
}

TEST(Membership, ShoalLaunchNeedsNothingOfTheScheduler) {
  const Membership me = detect({{"SHOAL_RANK", "0"},
                                {"SHOAL_WORLD_SIZE", "1"},
                                {"SHOAL_LOCAL_RANK", "0"},
                                {"SHOAL_LOCAL_SIZE", "1"},
                                {"SHOAL_NODE", "0"},
                                {"SHOAL_NUM_NODES", "1"},
                                {"PBS_NODEFILE", "/no/such/file"}});
  EXPECT_EQ(me.scheduler, "pbs");
}

TEST(LaunchCommand, FitsTheScheduler) {
  EXPECT_EQ(suggested_launch_command(detect(srun_task())),
            "srun --nodes=3 --ntasks-per-node=R shoal COMMAND");
  EXPECT_EQ(suggested_launch_command(detect({})), "shoal launch --ranks R -- COMMAND");
}

}  // namespace
}  // namespace shoal::cluster

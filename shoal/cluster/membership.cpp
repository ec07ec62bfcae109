#include "shoal/cluster/membership.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include <unistd.h>

#include "shoal/cluster/address.h"
#include "shoal/cluster/hostlist.h"
#include "shoal/cluster/restarts.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/limits.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMaxNodefileBytes = 64 << 20;  // 16,384 ranks with long host names are 1 MB

// "10.0.0.1:2345", "[fd00::1]:2345", "host" -> host and port
void read_store(const std::string& text, Membership& me) {
  const size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  const bool has_port = colon != std::string::npos &&
                        (bracketed ? text.find(']') == colon - 1 : text.find(':') == colon);
  me.store_host = has_port ? text.substr(0, colon) : text;
  if (bracketed) {
    if (me.store_host.find(']') != me.store_host.size() - 1)
      throw UsageError(format("the store address '{}' must be [ADDRESS] or [ADDRESS]:PORT", text));
    me.store_host = me.store_host.substr(1, me.store_host.size() - 2);
  }
  if (!has_port) return;
  const auto port = number_in<int>(std::string_view(text).substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) {
    throw UsageError(
        format("the store address '{}' needs a port from 1 to 65535 after the colon", text));
  }
  me.store_port = port;
}

// Each host once, in the order of a PBS node file (one line per slot).
std::vector<std::string> hosts_of_nodefile(const std::string& path) {
  std::istringstream lines(read_file(path, kMaxNodefileBytes));
  std::vector<std::string> hosts;
  std::unordered_set<std::string> seen;
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.empty() && seen.insert(line).second) hosts.push_back(line);
  }
  return hosts;
}

std::string scheduler_of(const Environment& env) {
  if (env.has("PBS_NODEFILE")) return "pbs";
  return env.has("SLURM_JOB_ID") ? "slurm" : "none";
}

// Inside a batch script or an interactive shell Slurm sets SLURM_PROCID and SLURM_NTASKS too,
// although nobody started that many tasks: only a step made by srun counts. Its number is small;
// the batch, extern and interactive steps have numbers near 2^32.
bool is_srun_task(const Environment& env) {
  const std::string step = env.get_or("SLURM_STEP_ID", "");
  const bool ordinary = !step.empty() && step.size() < 10;
  return ordinary && env.has("SLURM_PROCID");
}

// What `read` makes of a variable; empty without it.
std::vector<std::string> hosts_in(const Environment& env,
                                  const std::string& variable,
                                  std::vector<std::string> (*read)(const std::string&)) {
  const std::optional<std::string> value = env.get(variable);
  if (!value) return {};
  try {
    return read(*value);
  } catch (const Error& e) {
    throw UsageError(format("environment variable {}: {}", variable, e.what()));
  }
}

std::vector<std::string> hosts_of_list(const std::string& list) { return expand_hostlist(list); }

std::vector<std::string> hosts_of_scheduler(const Environment& env) {
  if (env.has("PBS_NODEFILE")) return hosts_in(env, "PBS_NODEFILE", hosts_of_nodefile);
  // The step of an interactive shell has one node, whatever the job has.
  const bool of_step = is_srun_task(env) && env.has("SLURM_STEP_NODELIST");
  return hosts_in(env, of_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST", hosts_of_list);
}

std::string scheduler_job(const Environment& env) {
  if (const auto id = env.get("PBS_JOBID")) return "pbs." + *id;
  if (const auto id = env.get("SLURM_JOB_ID")) return "slurm." + *id;
  return "";
}

void read_shoal_launch(const Environment& env, Membership& me) {
  me.launcher = "shoal launch";
  me.rank = env.require_number("SHOAL_RANK");
  me.world_size = env.require_number("SHOAL_WORLD_SIZE");
  me.local_rank = env.require_number("SHOAL_LOCAL_RANK");
  me.local_size = env.require_number("SHOAL_LOCAL_SIZE");
  me.node = env.require_number("SHOAL_NODE");
  me.num_nodes = env.require_number("SHOAL_NUM_NODES");
  read_store(env.get_or("SHOAL_STORE", ""), me);
}

void read_torchrun(const Environment& env, Membership& me) {
  me.launcher = "torchrun";
  me.rank = env.require_number("RANK");
  me.world_size = env.require_number("WORLD_SIZE");
  me.store_host = env.get_or("MASTER_ADDR", "");
  const bool one_host =
      me.world_size <= 1 || me.store_host == "localhost" || is_loopback(me.store_host);
  me.local_size = one_host ? env.get_number("LOCAL_WORLD_SIZE").value_or(me.world_size)
                           : env.require_number("LOCAL_WORLD_SIZE");
  if (me.local_size < 1)
    throw UsageError("environment variable LOCAL_WORLD_SIZE is 0, but must be at least 1");
  me.local_rank = env.get_number("LOCAL_RANK").value_or(me.rank % me.local_size);
  me.num_nodes = (me.world_size + me.local_size - 1) / me.local_size;
  me.node = env.get_number("GROUP_RANK").value_or(me.rank / me.local_size);
  // torchrun's own agent may already listen on MASTER_PORT; then the ranks agree on another one.
  const bool agent_listens = env.get_or("TORCHELASTIC_USE_AGENT_STORE", "") == "True";
  if (!agent_listens) me.store_port = env.get_port("MASTER_PORT");
  me.job = format("torchrun.{}.{}.{}.{}", env.get_or("TORCHELASTIC_RUN_ID", ""),
                  env.get_or("TORCHELASTIC_RESTART_COUNT", "0"), me.store_host,
                  env.get_or("MASTER_PORT", ""));
}

struct MpiVariables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* job;
};

constexpr MpiVariables kOpenMpi = {"openmpi",
                                   "OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_LOCAL_RANK",
                                   "OMPI_COMM_WORLD_LOCAL_SIZE",
                                   "PMIX_NAMESPACE"};
constexpr MpiVariables kPals = {"pals",           "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID",
                                "PMI_LOCAL_SIZE", "PALS_APID"};
constexpr MpiVariables kHydra = {"hydra",           "PMI_RANK",        "PMI_SIZE",
                                 "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr};

void read_mpi(const Environment& env, const MpiVariables& names, Membership& me) {
  me.launcher = names.launcher;
  me.rank = env.require_number(names.rank);
  me.world_size = env.require_number(names.size);
  me.local_rank = env.require_number(names.local_rank);
  const std::optional<int> local_size = env.get_number(names.local_size);
  const int hosts = static_cast<int>(me.hosts.size());
  me.local_size =
      local_size.value_or(hosts > 0 ? (me.world_size + hosts - 1) / hosts : me.world_size);
  if (me.local_size < 1) throw UsageError(format("environment variable {} is 0", names.local_size));
  me.num_nodes = (me.world_size + me.local_size - 1) / me.local_size;
  me.node = env.get_number("PALS_NODEID").value_or(me.rank / me.local_size);
  const bool in_blocks = me.rank % me.local_size == me.local_rank;
  if (!env.has("PALS_NODEID") && me.num_nodes > 1 && !in_blocks) {
    throw UsageError(format(
        "rank {} is rank {} of {} on its node, so neighbouring ranks are not together or nodes "
        "have different numbers of ranks: place them in equal blocks (--map-by slot, -ppn)",
        me.rank, me.local_rank, me.local_size));
  }
  // Hydra names no job. On one node all ranks have the same parent, its proxy; across nodes the
  // scheduler's job has to do.
  std::string own = names.job != nullptr ? env.get_or(names.job, "") : "";
  if (own.empty() && me.num_nodes == 1) own = format("parent-{}", ::getppid());
  me.job = format("{}.{}.{}", names.launcher, scheduler_job(env), own);
  me.store_host = me.num_nodes == 1
                      ? "127.0.0.1"
                      : env.get_or("MASTER_ADDR", me.hosts.empty() ? "" : me.hosts[0]);
  me.store_port = env.get_port("MASTER_PORT");
}

void read_slurm(const Environment& env, Membership& me) {
  me.launcher = "slurm";
  me.rank = env.require_number("SLURM_PROCID");
  me.world_size = env.require_number("SLURM_STEP_NUM_TASKS");
  me.local_rank = env.require_number("SLURM_LOCALID");
  me.node = env.require_number("SLURM_NODEID");
  me.num_nodes = env.require_number("SLURM_STEP_NUM_NODES");
  const std::vector<int> tasks = expand_tasks_per_node(env.get_or("SLURM_STEP_TASKS_PER_NODE", ""));
  if (me.node >= static_cast<int>(tasks.size())) {
    throw UsageError(format("SLURM_NODEID is {}, but SLURM_STEP_TASKS_PER_NODE '{}' names {} nodes",
                            me.node, env.get_or("SLURM_STEP_TASKS_PER_NODE", ""), tasks.size()));
  }
  const int64_t sum = std::accumulate(tasks.begin(), tasks.end(), int64_t{0});
  if (sum != me.world_size) {
    throw UsageError(
        format("SLURM_STEP_NUM_TASKS is {}, but SLURM_STEP_TASKS_PER_NODE '{}' adds up to {}",
               me.world_size, env.get_or("SLURM_STEP_TASKS_PER_NODE", ""), sum));
  }
  me.local_size = tasks[static_cast<size_t>(me.node)];
  me.job = format("slurm.{}.{}.{}", env.get_or("SLURM_JOB_ID", ""), env.get_or("SLURM_STEP_ID", ""),
                  env.get_or("SLURM_RESTART_COUNT", "0"));
  me.store_host = env.get_or("MASTER_ADDR", me.hosts.empty() ? "" : me.hosts[0]);
  me.store_port = env.get_port("MASTER_PORT");
}

// Without this, each rank of a job whose variables are incomplete would run alone and call it done.
void refuse_half_a_launcher(const Environment& env) {
  struct Half {
    std::string rank;
    std::string size;
    std::string missing;
  };
  for (const Half& half : {Half{"RANK", "WORLD_SIZE", "MASTER_ADDR"},
                           Half{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"}}) {
    if (!env.has(half.rank) || env.get_or(half.size, "1") == "1") continue;
    throw UsageError(
        format("environment variables {} and {} are set, but {} is not: set it, or unset them to "
               "run one rank alone",
               half.rank, half.size, half.missing));
  }
}

void check(const Membership& me) {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds)
      throw UsageError(
          format("the variables of launcher '{}' contradict each other: {}", me.launcher, what));
  };
  require(me.world_size >= 1 && me.world_size <= kMaxRanks,
          format("world size {}, which must be from 1 to {}", me.world_size, kMaxRanks));
  require(me.rank < me.world_size, format("rank {} of {}", me.rank, me.world_size));
  require(me.local_size >= 1 && me.local_size <= me.world_size,
          format("{} ranks on this node of {} in all", me.local_size, me.world_size));
  require(me.local_rank < me.local_size,
          format("local rank {} of {}", me.local_rank, me.local_size));
  require(me.num_nodes >= 1 && me.node < me.num_nodes,
          format("node {} of {}", me.node, me.num_nodes));
}

}  // namespace

Membership detect_membership(const Environment& env) {
  Membership me;
  me.scheduler = scheduler_of(env);
  me.hosts =
      env.has("SHOAL_RANK") ? hosts_in(env, "SHOAL_HOSTS", hosts_of_list) : hosts_of_scheduler(env);
  if (env.has("SHOAL_RANK")) {
    read_shoal_launch(env, me);
  } else if (env.has("RANK") && env.has("WORLD_SIZE") && env.has("MASTER_ADDR")) {
    read_torchrun(env, me);
  } else if (env.has("OMPI_COMM_WORLD_RANK")) {
    read_mpi(env, kOpenMpi, me);
  } else if (env.has("PALS_RANKID")) {
    read_mpi(env, kPals, me);
  } else if (env.has("PMI_RANK") && env.has("MPI_LOCALRANKID")) {
    read_mpi(env, kHydra, me);
  } else if (is_srun_task(env)) {
    read_slurm(env, me);
  } else {
    refuse_half_a_launcher(env);
  }
  me.job = env.get_or("SHOAL_JOB", me.job);
  for (const char* count :
       {kRestartCountVariable, "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"})
    me.restarts += env.get_number(count).value_or(0);
  check(me);
  return me;
}

std::string suggested_launch_command(const Membership& me) {
  const size_t hosts = std::max<size_t>(me.hosts.size(), 1);
  if (me.scheduler == "slurm")
    return format("srun --nodes={} --ntasks-per-node=R shoal COMMAND", hosts);
  if (me.scheduler == "pbs")
    return format("mpiexec -n {}R --ppn R shoal COMMAND", hosts > 1 ? format("{}*", hosts) : "");
  return "shoal launch --ranks R -- COMMAND";
}

}  // namespace shoal::cluster

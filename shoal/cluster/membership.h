// membership.h -- the rank of this process and its job, read from the launcher's environment
// variables.
//
//   const Membership me = detect_membership(Environment::of_this_process());
//   me.rank, me.world_size, me.launcher     // 5, 24, "slurm"
//
// Launchers are tried in this order: `shoal launch`, torchrun-style variables, OpenMPI, PALS (PBS
// on Cray), MPICH/Hydra, Slurm; without any of them the process is alone. An MPI launcher comes
// before the scheduler it runs under, because the scheduler's variables then describe its daemons,
// not the ranks. Nothing is looked up on the network. Wrong or contradictory variables throw
// UsageError.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/environment.h"

namespace shoal::cluster {

struct Membership {
  // "none", "shoal launch", "torchrun", "openmpi", "pals", "hydra", "slurm"
  std::string launcher = "none";
  std::string scheduler = "none";  // "none", "slurm", "pbs": what allocated the hosts
  std::string job = "alone";       // the same on every rank, different between jobs

  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the ranks of this node
  int local_size = 1;
  int node = 0;
  int num_nodes = 1;

  int restarts = 0;  // how often a launcher or scheduler has started this job again

  std::vector<std::string> hosts;  // in node order; empty if the launcher does not tell

  // Where rank 0 keeps the store. The host is empty if the launcher does not tell it; without a
  // port, ranks agree on one through their secret (cluster/rendezvous.h).
  std::string store_host;
  std::optional<int> store_port;
};

Membership detect_membership(const Environment& environment);

// Returns the command that starts a job on this host, e.g. "srun --nodes=2 --ntasks-per-node=R
// shoal COMMAND".
std::string suggested_launch_command(const Membership& me);

}  // namespace shoal::cluster

// roles.h -- the different parts that ranks of a layout have in a step: what holds for one rank of a
// role holds for all of them.
//
//   const std::vector<Role> roles = roles_of(config, mesh_of(config.parallel, 16'384));
//   roles[0].plan.rank, roles[0].ranks     // the first rank of a role, and how many have it
#pragma once

#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

struct Role {
  RankPlan plan;  // of the first rank with this role
  Program program;
  int ranks = 0;
};

// Ranks have the same role when their programs are equal up to the numbers of peers, make calls of the
// same sizes, and run on weights and micro-batches of the same shapes. Ranks that differ along axes of
// data differ by their number of sequences alone; with muon also by the matrices that they
// orthogonalize, so that the last of them has a role of its own. Ordered by rank.
std::vector<Role> roles_of(const config::RunConfig& config, const Mesh& mesh);

}  // namespace shoal::plan

// slurm_node.h -- the network address of a Slurm node whose name is not a host name.
#pragma once

#include <string>

namespace shoal::cluster {

// Asks `scontrol`; empty when that is not possible. Only for names that do not resolve: the
// controller should not be asked by every rank of a large job.
std::string address_of_slurm_node(const std::string& node);

}  // namespace shoal::cluster

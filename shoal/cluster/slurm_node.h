// slurm_node.h -- the network address of a Slurm node whose name is not a host name.
#pragma once

#include <string>

namespace shoal::cluster {

// Returns what `scontrol` answers, or nothing when that is not possible. Meant for names that do
// not resolve: not every rank of a large job should ask the controller.
std::string address_of_slurm_node(const std::string& node);

}  // namespace shoal::cluster

#include "shoal/config/comm_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(CommConfig& config, FieldList& list) {
  list.add(
      "backend", config.backend,
      "what moves tensors between ranks: nccl on GPUs, gloo on CPUs, mpi where the site has one, "
      "local for one rank alone, strict to find faults: gloo with the rules of nccl; auto: what "
      "fits the devices");
  list.add("deadline", config.deadline,
           "how long a call between ranks may take before its peers are declared lost; all other "
           "times of watching follow from it",
           between(std::chrono::seconds(1), std::chrono::seconds(7 * 24 * 3600)));
  list.add("rendezvous", config.rendezvous,
           "how long the ranks of a job may take to arrive before the missing ones are named",
           between(std::chrono::seconds(1), std::chrono::seconds(24 * 3600)));
  list.add("interface", config.interface,
           "network interface or address that ranks listen on and talk through; auto: the one that "
           "reaches rank 0",
           one_interface());
  list.add("lost_rank", config.lost_rank,
           "restart: a job that has lost a rank ends, and its launcher starts it again from the "
           "newest "
           "checkpoint; go_on: with two or more replicas, those that are left take the next step "
           "without it, and take it back when it returns");
  list.add(
      "spare_ranks", config.spare_ranks,
      "with go_on: ranks that are started beyond those of the layout, and take the place of lost "
      "ones at once",
      between(0, kMaxRanks - 1));
}

}  // namespace shoal::config

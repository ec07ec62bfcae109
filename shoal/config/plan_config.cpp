#include "shoal/config/plan_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(PlanConfig& config, FieldList& list) {
  list.add("cluster", config.cluster,
           "cluster file by which plan.json in the run's directory tells the expected time of a "
           "step; auto: only memory is told");
  list.add("other_ranks", config.other_ranks,
           "what happens on a number of ranks that the layout cannot be run on, such as after the "
           "loss of a host. refuse: an error; search: the run goes on with the layout that `shoal "
           "plan search` finds for plan.cluster");
}

}  // namespace shoal::config

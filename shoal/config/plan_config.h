// plan_config.h -- section `plan`: what a run predicts about itself before it begins.
#pragma once

#include <optional>
#include <string>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"

namespace shoal::config {

struct PlanConfig {
  std::optional<std::string> cluster;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("cluster", self.cluster,
          "cluster file by which plan.json in the run's directory tells the expected time of a "
          "step; auto: only memory is told");
  }
};

}  // namespace shoal::config

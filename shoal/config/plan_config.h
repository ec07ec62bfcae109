// plan_config.h -- section `plan`: what a run predicts about itself before it begins, and whether it may
// choose its layout by that.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"

namespace shoal::config {

// What a job does whose layout cannot be run on the ranks that it was started with.
enum class OtherRanks { kRefuse, kSearch };

template <>
inline constexpr std::array kNames<OtherRanks> = {Named{"refuse", OtherRanks::kRefuse},
                                                  Named{"search", OtherRanks::kSearch}};

struct PlanConfig {
  std::optional<std::string> cluster;
  OtherRanks other_ranks = OtherRanks::kRefuse;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("cluster", self.cluster,
          "cluster file by which plan.json in the run's directory tells the expected time of a "
          "step; auto: only memory is told");
    visit("other_ranks", self.other_ranks,
          "what happens on a number of ranks that the layout cannot be run on, such as after the "
          "loss of a host. refuse: an error; search: the run goes on with the layout that `shoal "
          "plan search` finds for plan.cluster");
  }
};

}  // namespace shoal::config

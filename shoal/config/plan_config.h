// plan_config.h -- section `plan`: what a run predicts about itself before it begins, and whether it may
// choose its layout by that.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "shoal/config/value.h"

namespace shoal::config {

class FieldList;

// What a job does whose layout cannot be run on the ranks that it was started with.
enum class OtherRanks { kRefuse, kSearch };

template <>
inline constexpr std::array kNames<OtherRanks> = {Named{"refuse", OtherRanks::kRefuse},
                                                  Named{"search", OtherRanks::kSearch}};

struct PlanConfig {
  std::optional<std::string> cluster;
  OtherRanks other_ranks = OtherRanks::kRefuse;
};

void list_fields(PlanConfig& config, FieldList& list);

}  // namespace shoal::config

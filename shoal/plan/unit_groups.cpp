#include "shoal/plan/unit_groups.h"

namespace shoal::plan {
namespace {

using config::UnitKind;
using config::UnitPolicy;

// Returns whether a group of this size takes one more unit.
bool fits(const config::ParallelConfig& config, size_t units, int64_t parameters) {
  switch (config.units) {
    case UnitPolicy::kByBlockGroup:
      return units < static_cast<size_t>(config.unit_blocks);
    case UnitPolicy::kSizeBased:
      return parameters < config.unit_parameters;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::vector<size_t>> group_units(const std::vector<UnitSize>& units,
                                             const config::ParallelConfig& config,
                                             bool tied) {
  const bool ends_together = tied || config.units == UnitPolicy::kByBlock;
  const bool ends_join_blocks = config.units == UnitPolicy::kSizeBased && !ends_together;
  std::vector<std::vector<size_t>> groups;
  int64_t parameters = 0;  // in the last group
  bool open = false;       // whether the last group takes more
  size_t group_of_embedding = units.size();
  for (size_t i = 0; i < units.size(); ++i) {
    const bool end = units[i].kind != UnitKind::kBlock;
    if (units[i].kind == UnitKind::kHead && ends_together && group_of_embedding < groups.size()) {
      groups[group_of_embedding].push_back(i);
      continue;
    }
    if (open && (!end || ends_join_blocks) && fits(config, groups.back().size(), parameters)) {
      groups.back().push_back(i);
      parameters += units[i].parameters;
      continue;
    }
    if (units[i].kind == UnitKind::kEmbedding) group_of_embedding = groups.size();
    groups.push_back({i});
    parameters = units[i].parameters;
    open = !end || ends_join_blocks;
  }
  return groups;
}

}  // namespace shoal::plan

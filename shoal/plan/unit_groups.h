// unit_groups.h -- groups the units of a decoder that are gathered, freed and reduced together.
//
//   by_block             [embedding + head] [block 0] [block 1] ...
//   by_block_and_size    [embedding] [block 0] [block 1] ... [head]
//   by_block_group: 2    [embedding] [blocks 0, 1] [blocks 2, 3] ... [head]
//   size_based: N        units in a row, until they have N parameters
//
// Small groups need little memory for gathered weights; large ones send fewer, longer messages. A
// tied embedding and head are one group in each of these modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/config/parallel_config.h"

namespace shoal::plan {

struct UnitSize {
  config::UnitKind kind = config::UnitKind::kBlock;
  int64_t parameters = 0;
};

// Returns groups of indices into `units`, which are in forward order; groups are ordered by their
// first unit. `tied` says that the head's matrix is that of an embedding among these units.
std::vector<std::vector<size_t>> group_units(const std::vector<UnitSize>& units,
                                             const config::ParallelConfig& config,
                                             bool tied);

}  // namespace shoal::plan

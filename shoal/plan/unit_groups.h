// unit_groups.h -- which units of a decoder are gathered, freed and reduced as one.
//
//   by_block             [embedding + head] [block 0] [block 1] ...
//   by_block_and_size    [embedding] [block 0] [block 1] ... [head]
//   by_block_group: 2    [embedding] [blocks 0, 1] [blocks 2, 3] ... [head]
//   size_based: N        units in a row, until they have N parameters
//
// Small groups need little memory for weights that are there for a moment; large ones send fewer, longer
// messages. Embedding and head that share a matrix are one group in each of them.
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

// Positions in `units`, which are in the order of the forward pass; the groups by their first unit.
// `tied`: the head's matrix is that of an embedding among these units.
std::vector<std::vector<size_t>> group_units(const std::vector<UnitSize>& units,
                                             const config::ParallelConfig& config,
                                             bool tied);

}  // namespace shoal::plan

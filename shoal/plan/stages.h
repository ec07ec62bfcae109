// stages.h -- cuts the blocks of a decoder into the stages of a pipeline.
//
//   const std::vector<blueprint::UnitRange> stages = cut_into_stages(/*blocks=*/10, /*stages=*/4);
//   // blocks of each: 2 3 3 2; the first has the embedding too, the last the head
//
// Each stage receives the activations of the one before. The schedule assigns stages to ranks
// (schedule.h): with several chunks per rank there are pp x chunks stages. Everything is pure
// arithmetic.
#pragma once

#include <vector>

#include "shoal/blueprint/decoder.h"

namespace shoal::plan {

// Cuts as evenly as possible. The remainder goes to the stages in the middle, the later ones first:
// the ends have the embedding and the head, and early stages keep the most activations. 126 blocks
// in 128 stages leave both ends without one, which is how Llama 3 405B was cut. Throws UsageError
// when a stage would be empty.
std::vector<blueprint::UnitRange> cut_into_stages(int blocks, int stages);

// Returns stages with the given numbers of blocks. Throws UsageError when a stage would be empty.
std::vector<blueprint::UnitRange> stages_with(const std::vector<int>& blocks_of_each);

}  // namespace shoal::plan

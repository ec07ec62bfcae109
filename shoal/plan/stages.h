// stages.h -- how the blocks of a decoder are cut into the stages of a pipeline.
//
//   const std::vector<blueprint::UnitRange> stages = cut_into_stages(/*blocks=*/10, /*stages=*/4);
//   // blocks of each: 2 3 3 2; the first has the embedding too, the last the head
//
// Stages stand in a row, each behind the one whose activations it takes. Which rank runs which is
// the schedule's to say (schedule.h): with several chunks per rank there are pp x chunks stages.
// Pure arithmetic.
#pragma once

#include <vector>

#include "shoal/blueprint/decoder.h"

namespace shoal::plan {

// As even as can be. What does not divide goes to the stages in the middle, the later ones first:
// the ends have the embedding and the head to do, and early stages keep the most activations. 126
// blocks in 128 stages leave both ends without one, which is how Llama 3 405B was cut. UsageError
// when a stage would have nothing to do.
std::vector<blueprint::UnitRange> cut_into_stages(int blocks, int stages);

// With so many blocks each, in the order of stages. UsageError likewise.
std::vector<blueprint::UnitRange> stages_with(const std::vector<int>& blocks_of_each);

}  // namespace shoal::plan

// program_text.h -- a program in words, an operation to a line: what `shoal plan program` prints.
//
//    12  gather            blocks.3                dp_shard    54.5 MiB  ready at 19
//    13  forward           blocks.2      mb 0
//    14  release           blocks.2
//    15  send              activations   mb 0      pp          32.0 MiB  to rank 9
#pragma once

#include <string>

#include "shoal/plan/program.h"

namespace shoal::plan {

// "gather blocks.3", "send activations of micro-batch 0"
std::string describe(const RankPlan& plan, const Operation& operation);
// Of an operation whose index is that of a group of units: "embedding..head".
std::string describe_group(const RankPlan& plan, const Operation& operation);

std::string to_text(const RankPlan& plan, const Program& program);

}  // namespace shoal::plan

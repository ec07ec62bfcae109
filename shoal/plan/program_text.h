// program_text.h -- a program as text, an operation to a line: what `shoal plan program` prints.
//
//    12  gather            blocks.3                dp_shard    54.5 MiB  until 19
//    13  forward           blocks.2      mb 0
//    14  release           blocks.2
//    15  send              activations   mb 0      pp          32.0 MiB  to rank 9
#pragma once

#include <string>

#include "shoal/plan/program.h"

namespace shoal::plan {

// Names an operation without its micro-batch: "gather blocks.3", "send activations", "norm".
std::string label(const RankPlan& plan, const Operation& operation);
// Names an operation: "gather blocks.3", "send activations of micro-batch 0".
std::string describe(const RankPlan& plan, const Operation& operation);
// Names the group of units that an operation is about: "embedding..head".
std::string describe_group(const RankPlan& plan, const Operation& operation);

std::string to_text(const RankPlan& plan, const Program& program);

}  // namespace shoal::plan

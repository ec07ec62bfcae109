// programs.h -- a step of the worked example on several ranks, in five ways.
//
// Each returns whether the step is that of one process, on this rank and all others. All ranks call the same one.
#pragma once

#include "shoal/comm/world.h"

namespace mlp {

bool ddp(shoal::comm::World& world, shoal::comm::Group ranks);
bool model_parallel(shoal::comm::World& world, shoal::comm::Group ranks);
bool pipeline(shoal::comm::World& world, shoal::comm::Group ranks);
bool tensor(shoal::comm::World& world, shoal::comm::Group ranks);
bool fsdp(shoal::comm::World& world, shoal::comm::Group ranks);

}  // namespace mlp

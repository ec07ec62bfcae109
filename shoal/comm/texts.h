// texts.h -- texts of any length between all ranks: for rare and small messages, such as what each
// rank has written.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/world.h"

namespace shoal::comm {

// Returns `mine` of every rank, in rank order, on every rank. Collective.
std::vector<std::string> all_texts(World& world, const std::string& mine, std::string_view what);

// Returns `mine` of rank 0 on every rank. Collective.
std::string text_of_first(World& world, const std::string& mine, std::string_view what);

}  // namespace shoal::comm

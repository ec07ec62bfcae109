// texts.h -- texts of any length between all ranks: rare and small things, such as what each has written.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/world.h"

namespace shoal::comm {

// Of all ranks, in their order, on every rank. Collective.
std::vector<std::string> all_texts(World& world, const std::string& mine, std::string_view what);

// What rank 0 says.
std::string text_of_first(World& world, const std::string& mine, std::string_view what);

}  // namespace shoal::comm

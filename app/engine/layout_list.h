// layout_list.h -- which ways to spread a model over ranks compose, and what is refused and why, as a table.
//
// Nothing of it is written by hand: each place is a config, and plan/composition.h is asked about it.
#pragma once

#include <string>

namespace shoal::app {

std::string layout_list();

}  // namespace shoal::app

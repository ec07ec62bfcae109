// layout_list.h -- a table of the parallel strategies that compose, and of those that are refused
// and why.
//
// The table is generated: each cell is a config that plan/composition.h checks.
#pragma once

#include <string>

namespace shoal::app {

std::string layout_list();

}  // namespace shoal::app

// cmd_course.h -- `shoal course`: labs on distributed training that run on a laptop.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

// Returns 0, or 1 when an answer that was checked is not right yet.
int run_course(const std::vector<std::string>& arguments);

}  // namespace shoal::app

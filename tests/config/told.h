// told.h -- problems as lines of text, so that a test that fails shows what was told.
#pragma once

#include <string>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/core/format.h"

namespace shoal::tests {

inline std::string told(const std::vector<config::Problem>& problems) {
  std::string lines;
  for (const config::Problem& problem : problems) {
    lines +=
        format("{} | {} | {} | {}\n", problem.where, problem.place, problem.what, problem.hint);
  }
  return lines;
}

}  // namespace shoal::tests

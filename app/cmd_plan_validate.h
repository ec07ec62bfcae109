// cmd_plan_validate.h -- `shoal plan validate`: predictions beside published measurements.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

struct ValidateWords {
  std::string directory = "published";
  std::vector<std::string> clusters{};
  std::vector<std::string> fitted{};  // sources that clusters were fitted on
  bool rows = false;
  bool json = false;
};

void print_validation(const ValidateWords& words);

}  // namespace shoal::app

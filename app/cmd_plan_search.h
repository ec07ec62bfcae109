// cmd_plan_search.h -- `shoal plan search`: the best layouts of a job on a cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct SearchWords {
  std::string file{};
  std::vector<std::string> sets{};
  std::string cluster{};
  int gpus = 8;
  int layouts = 3;
  std::optional<std::string> write_to = std::nullopt;
  bool what_if = false;
  bool json = false;
};

void print_search(const SearchWords& words);

}  // namespace shoal::app

// print.h -- a config as text: the resolved form that is printed and kept with a run,
// and the difference between two of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shoal/config/field.h"
#include "shoal/config/run_config.h"

namespace shoal::config {

// Returns every key with its value, in the order of list_fields(). The text reads back as an equal
// config.
std::string to_yaml(const Table& table);
std::string to_yaml(const RunConfig& config);

// Replaces `path` with the resolved config atomically.
void save(const RunConfig& config, const std::filesystem::path& path);

struct Difference {
  std::string key;
  std::string before;  // as written in YAML
  std::string after;

  bool operator==(const Difference&) const = default;
};

// Returns the keys whose values differ. Both tables are made from the same type of config.
std::vector<Difference> diff(const Table& before, const Table& after);
std::vector<Difference> diff(const RunConfig& before, const RunConfig& after);

}  // namespace shoal::config

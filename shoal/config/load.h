// load.h -- loads a config from a file and --set arguments.
//
// --set wins over the file, the file over the defaults; of several --set for one key the last wins.
//
//   const RunConfig config = load_or_throw({.file = "a.yaml", .sets = {"parallel.tp=2"}});
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/check.h"
#include "shoal/config/problem.h"
#include "shoal/config/read.h"
#include "shoal/config/run_config.h"

namespace shoal::config {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;

struct Request {
  std::optional<std::filesystem::path> file = std::nullopt;  // absent: defaults and --set only
  std::vector<std::string> sets{};                           // "key=value"
  // If given, the config is also checked against these ranks, and `auto` is resolved.
  std::optional<JobSize> job = std::nullopt;
  // If given, it stands for section `model`: the model whose weights train.init_from names.
  std::optional<ModelConfig> model = std::nullopt;
};

struct Loaded {
  RunConfig config;  // complete only if there are no problems
  Findings found;
};

// Returns the config and everything that is wrong with it. Throws nothing but out of memory: a file
// that cannot be read is a problem like the others.
Loaded load(const Request& request);

// Does the same for a text in memory; `request.file` is only its name.
Loaded load_text(std::string_view text, const Request& request);

// Does the same for commands: throws UsageError with the complete report if there is a problem.
RunConfig load_or_throw(const Request& request);

}  // namespace shoal::config

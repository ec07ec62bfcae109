// run_files.h -- what a training run leaves in its directory, as far as labs look at it.
//
//   const std::map<int64_t, double> losses = read_losses("lab2/runs/one");
//   const std::vector<Start> starts = starts_of("lab8/runs/killed");
//   starts.size()                       // how often the run was started
//
// Everything here was written by someone else's run: files are read with limits, and what is damaged
// is a DataError with its path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shoal/config/parallel_config.h"

namespace shoal::course {

// Losses by step, from metrics.csv. Throws DataError when there is no such run.
std::map<int64_t, double> read_losses(const std::filesystem::path& run);

// One start of a run, from its file of TensorBoard events. metrics.csv has each step once, from the
// start that counts; here a step that was lost with a kill stands in two of them.
struct Start {
  std::map<int64_t, double> losses{};  // by step, in single precision; also of steps that were lost
};

// Returns the starts in their order.
std::vector<Start> starts_of(const std::filesystem::path& run);

// Returns the layout that wrote a run's newest checkpoint: "pp 1 x ... = 2 ranks, full_shard".
std::string layout_of(const std::filesystem::path& run);

// Returns the layouts of all whole checkpoints, by step.
std::map<int64_t, std::string> layouts_of(const std::filesystem::path& run);

// Returns where two lists of losses differ by more than this share, in words; empty when they agree.
std::string first_difference(const std::map<int64_t, double>& expected,
                             const std::map<int64_t, double>& found,
                             double tolerance);

}  // namespace shoal::course

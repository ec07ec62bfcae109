// bench_comm.h -- measures the collectives of this job, and the overhead of Group over the bare
// c10d call.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct CommBenchOptions {
  std::vector<std::string> ops;    // empty: all
  std::vector<std::string> sizes;  // empty: 4 KiB, 1 MiB, 64 MiB
  std::string type = "float32";
  int rounds = 21;
  std::vector<std::string> sets;
  bool json = false;
  std::optional<std::string> save = std::nullopt;  // the cluster file; then sizes are a sweep
};

// Returns the help text with the names that --op takes.
std::string comm_op_help();

void run_comm_bench(const CommBenchOptions& options);

}  // namespace shoal::app

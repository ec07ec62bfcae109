// bench_links.h -- latency and bandwidth of the links of a job, for a cluster file: those inside
// nodes, and those between them.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

struct LinkBenchOptions {
  std::string save;            // the cluster file
  std::vector<int64_t> sizes;  // bytes, ascending; empty: 4 KiB to 32 MiB
  std::vector<std::string> sets;
};

void run_link_bench(const LinkBenchOptions& options);

}  // namespace shoal::app

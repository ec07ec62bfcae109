// bench_device.h -- measures what this rank's device reaches, and writes it into a cluster file that
// `shoal plan --cluster` reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct DeviceBenchOptions {
  std::optional<std::string> save;  // the cluster file
  std::vector<std::string> sets;
  double seconds = 40;
};

// Products and attention of the model, in fp32 and bf16.
void run_gemm_bench(const DeviceBenchOptions& options);

// Copies by size, the optimizer, and what blocks do beside products and attention.
void run_memory_bench(const DeviceBenchOptions& options);

}  // namespace shoal::app

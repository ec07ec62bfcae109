#include "shoal/config/cluster_config.h"

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::config {

double DeviceSpec::peak(Precision precision) const {
  switch (precision) {
    case Precision::kBf16:
    case Precision::kFp16:
      return bf16_tflops * 1e12;
    case Precision::kFp64:
      return fp64_tflops * 1e12;
    case Precision::kTf32:
      return bf16_tflops / 2 * 1e12;  // of every device that has it
    case Precision::kFp32:
      break;
  }
  return fp32_tflops * 1e12;
}

ClusterConfig load_cluster(const std::filesystem::path& file) {
  ClusterConfig cluster;
  Findings found;
  try {
    read_yaml(table_of(cluster), read_file(file, kMaxConfigBytes), file.string(), found);
  } catch (const DataError& error) {
    throw UsageError(format("{}: name a YAML file such as those of clusters/", error.what()));
  }
  if (!found.problems.empty())
    throw UsageError(report(file.string() + " cannot be used", found.problems));
  return cluster;
}

}  // namespace shoal::config

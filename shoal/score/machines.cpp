#include "shoal/score/machines.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/score/csv_table.h"
#include "shoal/score/groups.h"

namespace shoal::score {
namespace {

Evidence evidence_of(const CsvTable& table, size_t row) {
  for (const Evidence evidence : {Evidence::kFit, Evidence::kSeen, Evidence::kTest})
    if (table.cell(row, "rows") == evidence_name(evidence)) return evidence;
  throw DataError(format("{}: column rows is '{}': write fit, seen or test", table.place(row),
                         table.cell(row, "rows")));
}

}  // namespace

std::vector<Machine> read_machines(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kMachinesFile;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  const CsvTable table = read_csv(file);
  std::vector<Machine> machines;
  machines.reserve(table.num_rows());
  for (size_t row = 0; row < table.num_rows(); ++row)
    machines.push_back({.source = table.cell(row, "source"),
                        .cluster = config::load_cluster(directory / table.cell(row, "cluster")),
                        .evidence = evidence_of(table, row)});
  return machines;
}

std::vector<Machine> machines_of(const config::ClusterConfig& cluster,
                                 const std::vector<std::string>& fitted) {
  const std::vector<std::string> sources = timed_sources();
  for (const std::string& name : fitted) {
    if (std::find(sources.begin(), sources.end(), name) != sources.end()) continue;
    throw UsageError(
        format("no source of step times is called '{}': there are {}", name, listed(sources)));
  }
  std::vector<Machine> machines;
  for (const std::string& source : sources) {
    const bool is_fitted = std::find(fitted.begin(), fitted.end(), source) != fitted.end();
    machines.push_back({source, cluster, is_fitted ? Evidence::kFit : Evidence::kTest});
  }
  return machines;
}

}  // namespace shoal::score

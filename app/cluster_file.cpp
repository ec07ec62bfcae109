#include "app/cluster_file.h"

#include <cmath>
#include <ctime>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::app {

namespace fs = std::filesystem;

config::ClusterConfig cluster_to_update(const std::string& file) {
  const fs::path directory = fs::path(file).parent_path();
  const fs::path in = directory.empty() ? fs::path(".") : directory;
  if (::access(in.c_str(), W_OK | X_OK) != 0)
    throw UsageError(
        format("--save {}: {} is no directory that can be written to", file, in.string()));
  std::error_code none;
  if (!fs::exists(file, none)) return {};
  if (!fs::is_regular_file(file, none))
    throw UsageError(format("--save {}: this is not a file", file));
  return config::load_cluster(file);
}

void save_measured(const config::ClusterConfig& cluster,
                   const std::string& file,
                   const std::string& name,
                   const std::string& conditions) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  config::save_cluster(
      cluster, file, name,
      format("{}, {}-{:02}-{:02} {:02}:{:02} UTC", conditions, 1900 + parts.tm_year,
             1 + parts.tm_mon, parts.tm_mday, parts.tm_hour, parts.tm_min));
  std::cout << format("written to {}\n", file);
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double digits = 3 - std::floor(std::log10(std::abs(value)));
  // Powers of ten below 1 are not exact: dividing by one above is.
  return digits >= 0 ? std::round(value * std::pow(10, digits)) / std::pow(10, digits)
                     : std::round(value / std::pow(10, -digits)) * std::pow(10, -digits);
}

config::Curve curve_of(const std::vector<bench::RatePoint>& points) {
  config::Curve curve;
  for (const bench::RatePoint& point : bench::merged(points)) {
    curve.sizes.push_back(rounded(point.size));
    curve.rates.push_back(rounded(point.rate));
  }
  return curve;
}

}  // namespace shoal::app

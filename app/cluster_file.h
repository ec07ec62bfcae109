// cluster_file.h -- the cluster file that a benchmark writes what it measured into.
//
//   config::ClusterConfig cluster = cluster_to_update("own.yaml");
//   cluster.node.latency_us = rounded(12.345678);
//   save_measured(cluster, "own.yaml", "shoal bench comm", "2 ranks on one host");
#pragma once

#include <string>
#include <vector>

#include "shoal/bench/fits.h"
#include "shoal/config/cluster_config.h"

namespace shoal::app {

// Returns the file's cluster, or defaults when there is no such file. Throws UsageError when the
// file is wrong or its directory cannot be written to: before anything is measured.
config::ClusterConfig cluster_to_update(const std::string& file);

// Writes the file with a comment that says what measured it, on what and when, and tells where.
void save_measured(const config::ClusterConfig& cluster,
                   const std::string& file,
                   const std::string& name,
                   const std::string& conditions);

// Returns the number with four digits: more are noise.
double rounded(double value);

// Returns the points as a curve of a cluster file.
config::Curve curve_of(const std::vector<bench::RatePoint>& points);

}  // namespace shoal::app

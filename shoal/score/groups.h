// groups.h -- the groups that `shoal plan validate` prints: which published rows are predicted by what, and
// which figure is to be beaten.
#pragma once

#include <string>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/score/machines.h"
#include "shoal/score/validation.h"

namespace shoal::score {

// Returns groups of memory, each predicted with the rules of the engine that was measured.
std::vector<Group> memory_groups();

// Returns whether a row was measured on the cluster's device. Devices are the same when their names
// begin with the same word and do not have different sizes in them: "A100-80GB-SXM" and "A100", but not
// "A100-40GB-SXM".
bool was_measured_on(const PublishedRow& row, const config::ClusterConfig& cluster);

// Returns the sources whose step times are compared.
std::vector<std::string> timed_sources();

// Returns the source's step times that were measured on the machine's device, without those that the
// figure to beat does not cover.
Group time_group(const Machine& machine);
// Returns that group, and those of the rows that it leaves out.
std::vector<Group> time_groups(const Machine& machine);

// Returns the predicted time of a row's step: on the cluster, with the row's attention and nodes. The
// second form predicts it on several clusters.
double step_seconds(const PublishedRow& row, const config::ClusterConfig& cluster);
std::vector<double> step_seconds(const PublishedRow& row,
                                 const std::vector<config::ClusterConfig>& clusters);

}  // namespace shoal::score

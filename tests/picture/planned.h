// planned.h -- layouts of a small model, for tests of pictures.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/config/load.h"
#include "shoal/picture/plan_facts.h"
#include "shoal/plan/layout.h"

namespace shoal::tests {

using Sets = std::vector<std::string>;

struct Planned {
  config::RunConfig config;
  plan::Mesh mesh;
};

inline Planned planned(int ranks, const Sets& sets) {
  Sets all = {"model.layers=11",  "model.width=510",       "model.heads=6",
              "model.context=97", "model.vocab_size=1009", "train.batch=26"};
  all.insert(all.end(), sets.begin(), sets.end());
  config::RunConfig config =
      config::load_or_throw({.sets = all, .job = config::JobSize{.ranks = ranks}});
  const plan::Mesh mesh = plan::mesh_of(config.parallel, ranks);
  return {std::move(config), mesh};
}

// Slow enough links that every kind of waiting occurs.
inline config::ClusterConfig slow_cluster() {
  config::ClusterConfig cluster;
  cluster.device.name = "slow";
  cluster.device.memory_gb = 1;
  cluster.devices_per_node = 3;
  cluster.node = {.gb_per_s = 5, .latency_us = 3};
  cluster.network = {.gb_per_s = 1, .latency_us = 30};
  return cluster;
}

}  // namespace shoal::tests

// plan_facts.h -- what a picture of a plan is drawn from: memory of the stages, and with a cluster
// the time of a step.
//
//   const PlanFacts facts = facts_of(config, plan::mesh_of(config.parallel, 1024), cluster);
//   facts.fullest.memory.peak(), facts.fits(), facts.mfu()
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/picture/ink.h"
#include "shoal/plan/device_allowance.h"
#include "shoal/plan/fullest_rank.h"
#include "shoal/plan/step_time.h"

namespace shoal::picture {

// Bytes of one kind; their order is that of the stack in all pictures.
struct MemoryPart {
  Ink ink;
  int64_t bytes;
};

constexpr size_t kNumMemoryParts = 8;
using MemoryParts = std::array<MemoryPart, kNumMemoryParts>;

MemoryParts parts_of(const plan::Memory& memory, int64_t beside);

// The fullest rank of a pipeline stage.
struct StageMemory {
  plan::StagePeak peak;
  plan::DeviceAllowance beside;

  [[nodiscard]] int64_t total() const { return peak.memory.peak() + beside.total(); }
  [[nodiscard]] MemoryParts parts() const { return parts_of(peak.memory, beside.total()); }
};

struct PlanFacts {
  plan::FullestRank fullest;
  std::vector<StageMemory> stages;  // by rank of the pipeline
  std::optional<config::ClusterConfig> cluster;
  std::optional<plan::StepTime> time;  // with a cluster

  [[nodiscard]] const config::RunConfig& config() const { return fullest.plan.config; }
  [[nodiscard]] const plan::Mesh& mesh() const { return fullest.plan.mesh; }
  [[nodiscard]] const StageMemory& fullest_stage() const {
    return stages[static_cast<size_t>(fullest.plan.pipeline_rank)];
  }
  // Returns the device's memory in bytes, with a cluster.
  [[nodiscard]] std::optional<int64_t> capacity() const;
  [[nodiscard]] bool fits() const;  // with a cluster
  // These are of a step's time.
  [[nodiscard]] double tokens_per_second() const;
  [[nodiscard]] double mfu() const;
};

// Returns the facts of a layout. `config` has been checked for the ranks of the mesh, and
// model.vocab_size is set. `observe` is told what happens in a step (plan/step_time.h).
PlanFacts facts_of(const config::RunConfig& config,
                   const plan::Mesh& mesh,
                   const std::optional<config::ClusterConfig>& cluster,
                   const plan::StepObserver& observe = {});

// Returns indices of at most `most` of `count` things: the first ones, `kept` and the last.
std::vector<size_t> some_of(size_t count, size_t most, size_t kept);

}  // namespace shoal::picture

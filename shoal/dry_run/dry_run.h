// dry_run.h -- a training step of one rank at any world size, without its memory or its peers: the
// code that `shoal train` runs, on tensors of the meta device and over the record backend.
//
//   const DryRun found = run_dry(config, plan, plan::training_program(plan));
//   found.difference                     // nothing, or the first thing that is not as the program says
//   found.peak, found.planned.peak()     // bytes of tensors, executed and planned
//
// Tensors take what they would take on a CPU with as many threads as this process: operators run the
// same code there, and meta_kernels.h knows what their kernels allocate beside results. Not counted
// are the buffers of libraries underneath: scratch of oneDNN, which multiplies in bf16, and buffers of
// a network's backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/dry_run/step_trace.h"
#include "shoal/plan/memory.h"
#include "shoal/plan/program.h"

namespace shoal::dry_run {

struct DryRun {
  size_t operations = 0;                       // that the step ran
  std::vector<GroupTraffic> traffic = {};      // that it made, by group
  std::optional<std::string> difference = {};  // of operations and calls, in words
  int64_t state = 0;                           // bytes between steps
  int64_t peak = 0;                            // bytes, with the state
  size_t peak_operation = 0;
  std::vector<int64_t> timeline = {};  // peak of each operation, with the state
  plan::Memory planned = {};
  double seconds = 0;

  // Returns a sentence when the peak is further from the planned one than plan/memory.h promises: a
  // twentieth, and room for vectors that are not counted where a model is small.
  [[nodiscard]] std::optional<std::string> difference_of_memory() const;
};

// Runs two steps of the plan's rank, because a step may await gathers of the one before, and compares
// both with `program`, the second one's memory too. The steps run `executed` where it is given, and
// otherwise what the plan compiles to: for tests of wrong programs.
DryRun run_dry(const config::RunConfig& config,
               const plan::RankPlan& plan,
               const plan::Program& program,
               const std::optional<plan::Program>& executed = std::nullopt);

}  // namespace shoal::dry_run

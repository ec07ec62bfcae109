// step_time.h -- how long a training step of a layout takes on a cluster, by running its programs
// with seconds in place of tensors.
//
//   const StepTime time = step_time(config, mesh_of(config.parallel, 1024), cluster);
//   time.seconds, time.busiest().by(Spent::kPipeline)
//
// One rank of each pipeline stage runs its program, event by event: ranks that differ only along
// other axes do the same at the same time. A rank computes in order; what a program starts and
// awaits later runs beside it, one call after the other in each group.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

// What a rank spends its time on.
enum class Spent : uint8_t {
  kProducts,
  kAttention,
  kMemory,     // functions that move bytes: norms, activations, the optimizer
  kTensor,     // calls of the tensor-parallel group
  kWeights,    // waiting for gathered weights
  kGradients,  // waiting for reduced gradients
  kPipeline,   // waiting for other stages
  kOther,      // loss, norm and tied gradient
};

constexpr int kNumSpent = 8;

std::string_view spent_name(Spent spent);  // "products", "waiting for the pipeline", ...

struct RankTime {
  double seconds = 0;
  std::array<double, kNumSpent> spent{};  // their sum is `seconds`

  [[nodiscard]] double by(Spent what) const { return spent[static_cast<size_t>(what)]; }
};

struct StepTime {
  double seconds = 0;            // until the last rank has updated its weights
  double began = 0;              // when the step began, as spans count
  std::vector<RankTime> stages;  // by rank of the pipeline

  // Returns the stage that computes longest.
  [[nodiscard]] const RankTime& busiest() const;
};

// What a stage does for a while. Spans of one stage that are not beside come in the order of time,
// and do not overlap.
struct StepSpan {
  const RankPlan& plan;        // of the stage's rank; valid during the call
  const Operation& operation;  // likewise
  Spent what;                  // kPipeline: waits for another stage, or beside, sends to it
  bool beside;                 // runs on a stream of its own, beside the computation
  double begin;
  double end;
};

using StepObserver = std::function<void(const StepSpan&)>;

// Returns the time of a step. `config` has been checked for the ranks of the mesh, and
// model.vocab_size is set. `observe` is told all spans of the measured step, and those beside the
// computation of the step before; without it nothing is recorded.
StepTime step_time(const config::RunConfig& config,
                   const Mesh& mesh,
                   const config::ClusterConfig& cluster,
                   const StepObserver& observe = {});

// Returns model FLOPs utilization: the share of the devices' peak that the model's operations make
// of so many seconds, without recomputation.
double mfu(const config::RunConfig& config,
           int ranks,
           const config::ClusterConfig& cluster,
           double seconds);

}  // namespace shoal::plan

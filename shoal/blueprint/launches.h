// launches.h -- the kernels that a pass of a unit launches.
//
//   launches_of(config::UnitKind::kBlock, model, Pass::kForward, config::Recompute::kNone);
//   // 10 of GPT-2
//
// They were counted on a fake GPU, in bf16; tests/softgpu/counts_test.py compares them again. A host
// that needs longer for its launches than the device for the work holds the device up.
#pragma once

#include "shoal/config/model_config.h"
#include "shoal/config/train_config.h"

namespace shoal::blueprint {

enum class Pass : bool { kForward, kBackward };

int launches_of(config::UnitKind kind,
                const config::ModelConfig& model,
                Pass pass,
                config::Recompute recompute);

// Norm, clipping and AdamW of a step, for all units of a rank together.
constexpr int kOptimizerLaunches = 25;

}  // namespace shoal::blueprint

// evaluation.h -- the loss of a model on tokens it is not trained on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "shoal/data/loader/sample_stream.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::train {

struct EvaluationOptions {
  int64_t batches = 20;
  int64_t batch = 16;  // sequences over all ranks; at least one per data-parallel rank
  std::optional<int64_t> micro_batch = std::nullopt;
  bool separate_documents = true;
  c10::Device device = c10::Device(c10::kCPU);
};

// Returns the mean loss over the targets of the first batches * batch samples of `stream`: the same
// ones each time and on every layout. Nothing when no target among them counts. Collective.
std::optional<double> evaluate(parallel::ParallelModel& model,
                               const parallel::Ranks& ranks,
                               const std::shared_ptr<const data::SampleStream>& stream,
                               const EvaluationOptions& options);

}  // namespace shoal::train

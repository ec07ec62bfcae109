// evaluation.h -- the loss of a model on tokens it is not trained on.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/data/loader/sample_stream.h"
#include "shoal/model/decoder.h"
#include "shoal/train/batches.h"

namespace shoal::train {

struct EvaluationOptions {
  int64_t batches = 20;
  int64_t batch = 16;  // sequences
  BatchOptions passes = {};
  c10::Device device = c10::Device(c10::kCPU);
};

// Mean over the targets of the first samples of `stream`: the same ones each time.
double evaluate(const model::Decoder& decoder,
                const std::shared_ptr<const data::SampleStream>& stream,
                const EvaluationOptions& options);

}  // namespace shoal::train

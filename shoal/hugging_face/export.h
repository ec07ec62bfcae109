// export.h -- exports a model as a Hugging Face directory, without holding it in memory.
//
//   export_model(CheckpointWeights(checkpoint, specs), config, specs, "small-hf",
//                       {.dtype = DType::kBf16}, progress);
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/hugging_face/weight_source.h"
#include "shoal/state/progress.h"

namespace shoal::hugging_face {

struct ExportOptions {
  state::DType dtype = state::DType::kF32;  // or kBf16, kF16
  uint64_t max_file_bytes = 5'000'000'000;
  uint64_t block = uint64_t{4} << 20;  // numbers in memory at a time; 16 times as many to transpose
};

// Writes config.json and the tensors, which transformers' from_pretrained opens. `specs` are the
// weights of the source. Throws UsageError when no family of Hugging Face's matches the model.
//
// It takes some 20 MB; for GPT-2, whose matrices are transposed, up to 256 MiB. A larger matrix is
// read several times, a range of columns each.
void export_model(const WeightSource& source,
                  const config::ModelConfig& config,
                  const std::vector<state::TensorSpec>& specs,
                  const std::filesystem::path& directory,
                  const ExportOptions& options,
                  state::Progress& progress);

}  // namespace shoal::hugging_face

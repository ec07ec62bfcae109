// golden_models.h -- the small models under tests/golden/models, and the outputs of transformers
// for them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/model/functions/wide_type.h"
#include "shoal/state/safetensors.h"

#include "tests/support/one_rank.h"

namespace shoal::tests {

inline std::filesystem::path golden(const std::string& path) {
  const char* const source = std::getenv("SHOAL_SOURCE_DIR");
  SHOAL_CHECK(source != nullptr, "SHOAL_SOURCE_DIR is not set");
  return std::filesystem::path(source) / "tests" / "golden" / path;
}

inline std::filesystem::path golden_model(const std::string& family) {
  return golden("models/" + family);
}

inline at::Tensor read_tensor(const std::filesystem::path& file, const std::string& name) {
  const state::Safetensors tensors(file);
  const state::TensorInfo* const info = tensors.find(name);
  SHOAL_CHECK(info != nullptr, "{} has no {}", file.string(), name);
  return checkpoint::tensor_of(info->dtype, info->shape, tensors.bytes(*info));
}

inline at::Tensor golden_tensor(const std::string& family, const std::string& name) {
  return read_tensor(golden_model(family) / "golden.safetensors", name);
}

// Loads the model of a directory with its weights; `config` may set more than its shape.
inline std::unique_ptr<OneRank> load_model(const std::filesystem::path& directory,
                                           at::ScalarType dtype,
                                           config::RunConfig config = {}) {
  const double dropout = config.model.dropout;
  config.model = hugging_face::read_config(directory).config;
  config.model.dropout = dropout;
  auto loaded = std::make_unique<OneRank>(
      config, model::Materials{
                  .dtype = dtype, .gradient_dtype = model::wide_type(dtype), .new_values = false});
  checkpoint::load_hugging_face(directory, loaded->model());
  return loaded;
}

inline at::Tensor logits(parallel::ParallelModel& model, const at::Tensor& tokens) {
  const at::AutoGradMode no_grad(false);
  model::Pass pass{.tokens = tokens};
  return model.forward(pass);
}

// Returns the weights of a model on one rank, or their gradients.
inline std::map<std::string, at::Tensor> tensors_of(const parallel::ParallelModel& model,
                                                    bool gradients) {
  std::map<std::string, at::Tensor> tensors;
  for (const plan::Holding& holding : model.holdings()) {
    tensors[holding.weight->name] =
        (gradients ? model.gradient_of(holding) : model.weight_of(holding))
            .view(holding.weight->shape);
  }
  return tensors;
}

inline double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace shoal::tests

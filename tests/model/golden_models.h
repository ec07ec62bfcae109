// golden_models.h -- the small models under tests/golden/models, and what transformers makes of them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/model/decoder.h"
#include "shoal/state/safetensors.h"

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

// A decoder with the weights of a directory.
inline std::unique_ptr<model::Decoder> load_decoder(const std::filesystem::path& directory,
                                                    at::ScalarType dtype,
                                                    model::Builder& builder) {
  const auto config = checkpoint::read_hugging_face_config(directory).config;
  auto decoder = std::make_unique<model::Decoder>(config, builder);
  decoder->materialize(
      {.dtype = dtype, .gradient_dtype = dtype == at::kDouble ? at::kDouble : at::kFloat});
  checkpoint::load_hugging_face(directory, *decoder);
  return decoder;
}

inline at::Tensor scores(const model::Decoder& decoder, const at::Tensor& tokens) {
  const at::AutoGradMode no_grad(false);
  model::Pass pass{.tokens = tokens};
  decoder.place(pass);
  return decoder.forward(pass);
}

inline double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace shoal::tests

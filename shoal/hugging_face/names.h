// names.h -- the tensors of a Hugging Face file that make up one of shoal's.
//
// shoal keeps queries, keys and values as one matrix, and gate and value of a gated MLP as another;
// GPT-2's files hold matrices transposed. Everything else is renaming.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/hugging_face/family.h"
#include "shoal/state/safetensors_index.h"

namespace shoal::hugging_face {

struct ForeignPart {
  std::string name;
  int64_t rows = 0;  // rows of shoal's tensor, where the parts are stacked
};

struct ForeignTensor {
  std::vector<ForeignPart> parts;
  bool transposed = false;
};

// Returns the foreign tensor of one of the decoder's weights. Throws BugError for an unknown name.
ForeignTensor foreign_tensor(Family family,
                             const config::ModelConfig& config,
                             std::string_view name);

// Returns the tensor's name in a directory: files of the bare transformer, without its head, leave
// out the first component of names.
std::string name_in(const state::TensorDirectory& directory, const std::string& name);

// Returns whether a tensor is no weight of the model: some files also hold masks, tables of angles,
// or a tied head.
bool needs_no_place(std::string_view name, bool tied);

}  // namespace shoal::hugging_face

// names.h -- which tensors of a Hugging Face file make up one of shoal's, and the other way round.
//
// shoal keeps queries, keys and values as one matrix, and gate and value of a gated MLP as another;
// GPT-2's files hold matrices transposed. Everything else is a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/state/hugging_face/family.h"
#include "shoal/state/safetensors_index.h"

namespace shoal::state {

struct ForeignPart {
  std::string name;
  int64_t rows = 0;  // of shoal's tensor; the parts lie in it one below the other
};

struct ForeignTensor {
  std::vector<ForeignPart> parts;
  bool transposed = false;
};

// Of one of the decoder's weights; BugError for a name it does not have.
ForeignTensor foreign_tensor(Family family,
                             const config::ModelConfig& config,
                             std::string_view name);

// What a directory calls it: files of the bare transformer, without its head, leave out the first part of
// names.
std::string name_in(const TensorDirectory& directory, const std::string& name);

// What files of some versions hold beside weights: masks, tables of angles, a head that is tied.
bool needs_no_place(std::string_view name, bool tied);

}  // namespace shoal::state

// hugging_face.h -- weights from directories of Hugging Face; state/hugging_face/export.h writes them.
#pragma once

#include <filesystem>

#include "shoal/parallel/parallel_model.h"
#include "shoal/state/hugging_face/config_json.h"

namespace shoal::checkpoint {

using state::kConfigJson;
using state::read_hugging_face_config;

// Sets every weight of a model that was made from the directory's config, in the widest type that is kept. DataError when
// a tensor is missing, has another shape, or is one that the model has no place for. Collective.
void load_hugging_face(const std::filesystem::path& directory, parallel::ParallelModel& model);

}  // namespace shoal::checkpoint

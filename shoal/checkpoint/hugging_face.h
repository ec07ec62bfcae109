// hugging_face.h -- loads weights from Hugging Face directories; hugging_face/export.h writes
// them.
#pragma once

#include <filesystem>

#include "shoal/hugging_face/config_json.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::checkpoint {

// Loads every weight of a model that was made from the directory's config, in the widest type that
// is kept. Throws DataError when a tensor is missing, has another shape, or does not belong to the
// model. Collective.
void load_hugging_face(const std::filesystem::path& directory, parallel::ParallelModel& model);

}  // namespace shoal::checkpoint

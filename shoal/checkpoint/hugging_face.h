// hugging_face.h -- weights from directories of Hugging Face; state/hugging_face/export.h writes them.
#pragma once

#include <filesystem>

#include "shoal/model/decoder.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/state/hugging_face/config_json.h"

namespace shoal::checkpoint {

using state::kConfigJson;
using state::read_hugging_face_config;

// Sets every weight of a decoder that was made from the directory's config. DataError when a tensor is
// missing, has another shape, or is one that the decoder has no place for.
void load_hugging_face(const std::filesystem::path& directory, const model::Decoder& decoder);

// The same for one that is spread over ranks. Collective.
void load_hugging_face(const std::filesystem::path& directory, parallel::ParallelModel& model);
// And for one that is to be trained: nothing is lost where the optimizer keeps weights in a wider type. Collective.
void load_hugging_face(const std::filesystem::path& directory,
                       parallel::ParallelModel& model,
                       optim::Optimizer& optimizer);

}  // namespace shoal::checkpoint

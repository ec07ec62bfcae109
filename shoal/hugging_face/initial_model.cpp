#include "shoal/hugging_face/initial_model.h"

#include <filesystem>

#include "shoal/core/error.h"
#include "shoal/hugging_face/config_json.h"

namespace shoal::hugging_face {

std::optional<config::ModelConfig> initial_model(const config::TrainConfig& train) {
  const std::string& from = train.init_from;
  if (from == config::kFromScratch || from == config::kFromResume) return std::nullopt;
  const std::filesystem::path file = std::filesystem::path(from) / kConfigJson;
  std::error_code cannot_tell;
  if (!std::filesystem::exists(file, cannot_tell))
    throw DataError(
        format("train.init_from is '{}', but must be scratch, resume or a Hugging Face directory: "
               "there is no {}",
               from, file.string()));
  return read_config(from).config;
}

config::Request with_initial_model(config::Request request) {
  // Whether it can be run is a matter of the model that is not known yet.
  const config::Loaded loaded = config::load({.file = request.file, .sets = request.sets});
  if (loaded.found.problems.empty()) request.model = initial_model(loaded.config.train);
  return request;
}

}  // namespace shoal::hugging_face

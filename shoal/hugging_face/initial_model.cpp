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

}  // namespace shoal::hugging_face

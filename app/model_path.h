// model_path.h -- what lies at a path that a command was given: a checkpoint, a run with some, or a Hugging
// Face directory. What can be said of it without torch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "shoal/config/model_config.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/hugging_face/config_json.h"

namespace shoal::app {

constexpr const char* kCheckpoints = "checkpoints";  // in the directory of a run

struct FoundCheckpoint {
  std::filesystem::path path;
  std::filesystem::path run;  // to which it belongs: there may be a tokenizer
};

// Of a checkpoint itself, or of a run the newest; or the best by validation loss, if one is known. Nothing
// when there is none. DataError when the note about the best cannot be read.
std::optional<FoundCheckpoint> find_newest_checkpoint(const std::filesystem::path& path);
std::optional<FoundCheckpoint> find_best_checkpoint(const std::filesystem::path& path);

// The newest; UsageError when there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& path);

bool is_hugging_face_directory(const std::filesystem::path& path);

// What its config.json says. DataError also for numbers that no config of shoal's may have.
state::HuggingFaceModel read_hugging_face_model(const std::filesystem::path& directory);

// UsageError that says why nothing above has found a model.
[[noreturn]] void refuse_as_model(const std::filesystem::path& path);

// The shape of the model that it holds. DataError when there is none that this version can read.
config::ModelConfig model_in(const state::Checkpoint& checkpoint);
// What it has to hold for that: the text of a config.
std::string config_text(const config::ModelConfig& model);

}  // namespace shoal::app

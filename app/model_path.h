// model_path.h -- finds the model at a path that a command was given: a checkpoint, a run with
// some, or a Hugging Face directory. Without torch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "shoal/config/model_config.h"
#include "shoal/hugging_face/config_json.h"
#include "shoal/state/checkpoint.h"

namespace shoal::app {

constexpr const char* kCheckpoints = "checkpoints";  // name of the directory in a run

struct FoundCheckpoint {
  std::filesystem::path path;
  std::filesystem::path run;  // run it belongs to, which may have a tokenizer
};

// Return the checkpoint at the path itself; or the newest of a run; or the best of a run by
// validation loss, and the newest if no best is known. Nothing when there is none. Throws DataError
// when the note about the best cannot be read.
std::optional<FoundCheckpoint> find_newest_checkpoint(const std::filesystem::path& path);
std::optional<FoundCheckpoint> find_best_checkpoint(const std::filesystem::path& path);

// Returns the newest; throws UsageError when there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& path);

bool is_hugging_face_directory(const std::filesystem::path& path);

// Reads its config.json. Throws DataError also for numbers that no config of shoal's may have.
hugging_face::DescribedModel read_hugging_face_model(const std::filesystem::path& directory);

// Throws a UsageError that says why no model was found at the path.
[[noreturn]] void refuse_as_model(const std::filesystem::path& path);

// Returns the config of the model in a checkpoint. Throws DataError when this version cannot read
// it.
config::ModelConfig model_in(const state::Checkpoint& checkpoint);
// Returns the text of a config, which a checkpoint has to hold for that.
std::string config_text(const config::ModelConfig& model);

}  // namespace shoal::app

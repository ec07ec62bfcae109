#include "app/model_path.h"

#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/state/checkpoint_store.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

// What cannot be looked at is not there: a path may be anything.
bool has(const fs::path& directory, const char* name) {
  std::error_code cannot_tell;
  return fs::exists(directory / name, cannot_tell);
}

std::optional<FoundCheckpoint> checkpoint_itself(const fs::path& path) {
  if (!has(path, state::kCheckpointManifest)) return std::nullopt;
  // A path may end with a slash or begin in the run.
  const fs::path manifest = fs::absolute(path / state::kCheckpointManifest).lexically_normal();
  return FoundCheckpoint{path, manifest.parent_path().parent_path().parent_path()};
}

}  // namespace

std::optional<FoundCheckpoint> find_newest_checkpoint(const fs::path& path) {
  if (auto itself = checkpoint_itself(path)) return itself;
  if (!has(path, kCheckpoints)) return std::nullopt;
  if (const auto newest = state::latest(path / kCheckpoints))
    return FoundCheckpoint{newest->path, path};
  return std::nullopt;
}

std::optional<FoundCheckpoint> find_best_checkpoint(const fs::path& path) {
  if (auto itself = checkpoint_itself(path)) return itself;
  if (const auto best = state::best(path / kCheckpoints)) return FoundCheckpoint{best->path, path};
  return find_newest_checkpoint(path);
}

fs::path newest_checkpoint(const fs::path& path) {
  if (const auto found = find_newest_checkpoint(path)) return found->path;
  throw UsageError(format(
      "'{}' is neither a checkpoint nor a run with one: name RUN or RUN/checkpoints/step-...",
      path.string()));
}

bool is_hugging_face_directory(const fs::path& path) {
  return has(path, hugging_face::kConfigJson);
}

hugging_face::DescribedModel read_hugging_face_model(const fs::path& directory) {
  hugging_face::DescribedModel model = hugging_face::read_config(directory);
  const config::Loaded loaded =
      config::load_text(config_text(model.config), {.file = hugging_face::kConfigJson});
  if (loaded.found.problems.empty()) return model;
  const config::Problem& problem = loaded.found.problems.front();
  throw DataError(format("{}: {}: {}", (directory / hugging_face::kConfigJson).string(),
                         problem.where, problem.what));
}

void refuse_as_model(const fs::path& path) {
  std::error_code cannot_tell;
  throw UsageError(format(
      "'{}' is no model: {}; name the directory of a run, of one of its checkpoints, or of a "
      "Hugging Face model",
      path.string(),
      fs::is_directory(path, cannot_tell)
          ? "there is neither a config.json nor a checkpoint in it that can be read"
          : "there is no such directory"));
}

config::ModelConfig model_in(const state::Checkpoint& checkpoint) {
  const auto text = checkpoint.values().find("config");
  if (text == checkpoint.values().end())
    throw DataError(format("{} does not hold a config", checkpoint.path().string()));
  const config::Loaded loaded = config::load_text(text->second, {.file = "config"});
  if (!loaded.found.problems.empty() || !loaded.config.model.vocab_size)
    throw DataError(
        format("{} holds a config that this version cannot read", checkpoint.path().string()));
  return loaded.config.model;
}

std::string config_text(const config::ModelConfig& model) {
  config::RunConfig run;
  run.model = model;
  return config::to_yaml(run);
}

}  // namespace shoal::app

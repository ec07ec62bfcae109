#include "app/engine/open_model.h"

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/plan/composition.h"
#include "shoal/state/checkpoint_store.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using data::TokenId;

constexpr const char* kGenerationConfig = "generation_config.json";
constexpr size_t kMaxConfigBytes = size_t{1} << 20;
const model::Materials kToBeLoaded{.gradients = false, .new_values = false};

// "eos_token_id": a number or several; nothing when the file does not say.
std::optional<std::vector<TokenId>> end_ids_in(const fs::path& file) {
  const json::Document document(read_file(file, kMaxConfigBytes));
  const auto found = json::Fields(document.root(), file.string()).find("eos_token_id");
  if (!found) return std::nullopt;
  std::vector<TokenId> ids;
  const auto add = [&](json::element value) {
    uint64_t id = 0;
    if (value.get(id) != simdjson::SUCCESS || id > UINT32_MAX)
      throw DataError(
          format("{}: eos_token_id is no token's number, nor a list of them", file.string()));
    ids.push_back(static_cast<TokenId>(id));
  };
  simdjson::dom::array several;
  if (found->get(several) == simdjson::SUCCESS) {
    for (const json::element value : several) add(value);
  } else {
    add(*found);
  }
  return ids;
}

// How to generate is said in a file of its own, if there is one; else by the model's.
std::vector<TokenId> end_ids_of(const fs::path& directory) {
  for (const char* name : {kGenerationConfig, checkpoint::kConfigJson}) {
    if (!fs::exists(directory / name)) continue;
    if (auto ids = end_ids_in(directory / name)) return std::move(*ids);
  }
  return {};
}

// Makes the decoder, or this rank's part of it, and calls `load` with it.
template <class Load>
void make_model(OpenedModel& opened,
                const config::ModelConfig& config,
                const LayoutPlace* place,
                const Load& load) {
  if (place == nullptr) {
    model::PlainBuilder builder({});
    opened.decoder = std::make_unique<model::Decoder>(config, builder);
    opened.decoder->materialize(kToBeLoaded);
    load(*opened.decoder);
    return;
  }
  config::RunConfig run = place->config;
  run.model = config;
  const int ranks = place->ranks.mesh().num_ranks();
  run.train.batch = ranks;  // nothing is trained: all ranks are given the same
  run.train.micro_batch = std::nullopt;
  plan::require_layout(run, ranks);
  opened.spread = std::make_unique<parallel::ParallelModel>(run, place->ranks, kToBeLoaded);
  load(*opened.spread);
}

OpenedModel open_hugging_face(const fs::path& directory, const LayoutPlace* place) {
  OpenedModel opened{.path = directory, .end_ids = end_ids_of(directory)};
  make_model(opened, checkpoint::read_hugging_face_config(directory).config, place,
             [&](auto& model) { checkpoint::load_hugging_face(directory, model); });
  if (!tokenizer_files(directory).empty()) opened.tokenizer = directory;
  return opened;
}

config::ModelConfig config_in(const state::Checkpoint& checkpoint) {
  const auto text = checkpoint.values().find("config");
  if (text == checkpoint.values().end())
    throw DataError(format("{} does not hold a config", checkpoint.path().string()));
  const config::Loaded loaded = config::load_text(text->second, {.file = "config"});
  if (!loaded.found.problems.empty() || !loaded.config.model.vocab_size)
    throw DataError(
        format("{} holds a config that this version cannot read", checkpoint.path().string()));
  return loaded.config.model;
}

OpenedModel open_checkpoint(const fs::path& path, const fs::path& run, const LayoutPlace* place) {
  const state::Checkpoint checkpoint(path);
  OpenedModel opened{.path = path};
  make_model(opened, config_in(checkpoint), place,
             [&](auto& model) { checkpoint::load_weights(checkpoint, model); });
  if (!tokenizer_files(run).empty()) opened.tokenizer = run;
  return opened;
}

std::optional<fs::path> chosen_checkpoint(const fs::path& run) {
  const fs::path root = run / "checkpoints";
  if (const auto best = state::best(root)) return best->path;
  if (const auto newest = state::latest(root)) return newest->path;
  return std::nullopt;
}

OpenedModel open_any(const fs::path& path, const LayoutPlace* place) {
  if (fs::exists(path / checkpoint::kConfigJson)) return open_hugging_face(path, place);
  if (fs::exists(path / state::kCheckpointManifest))
    return open_checkpoint(path, path.parent_path().parent_path(), place);
  if (const auto found = chosen_checkpoint(path)) return open_checkpoint(*found, path, place);
  throw UsageError(format("'{}' is no model: {}", path.string(),
                          fs::is_directory(path)
                              ? "there is neither a config.json nor a checkpoint in it"
                              : "there is no such directory"));
}

}  // namespace

OpenedModel open_model(const fs::path& path) { return open_any(path, nullptr); }

OpenedModel open_model(const fs::path& path, const LayoutPlace& place) {
  return open_any(path, &place);
}

const config::ModelConfig& OpenedModel::config() const {
  return decoder ? decoder->config() : spread->decoder().config();
}

generate::Scorer OpenedModel::scorer() const {
  if (decoder) return *decoder;
  return {spread->decoder(), kToBeLoaded.device,
          [model = spread.get()](const model::Pass& pass) { return model->forward(pass); }};
}

std::shared_ptr<const data::Tokenizer> tokenizer_of(const OpenedModel& model,
                                                    const TokenizerChoice& choice) {
  if (!choice.path.empty()) return read_chosen(choice);
  if (model.tokenizer)
    return read_chosen({.path = model.tokenizer->string(), .pattern = choice.pattern});
  throw UsageError(
      format("there is no tokenizer.json in {}: name one with --tokenizer", model.path.string()));
}

}  // namespace shoal::app

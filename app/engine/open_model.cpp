#include "app/engine/open_model.h"

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/plan/composition.h"

#include "app/model_path.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using data::TokenId;

constexpr const char* kGenerationConfig = "generation_config.json";
constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Returns "eos_token_id", a number or several; nullopt when the file has none.
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

// The generation config has the end tokens, if it exists; otherwise the model's config.
std::vector<TokenId> end_ids_of(const fs::path& directory) {
  for (const char* name : {kGenerationConfig, hugging_face::kConfigJson}) {
    if (!fs::exists(directory / name)) continue;
    if (auto ids = end_ids_in(directory / name)) return std::move(*ids);
  }
  return {};
}

// Returns this rank's part of a model, before its weights are loaded.
std::unique_ptr<parallel::ParallelModel> make_model(const config::ModelConfig& model,
                                                    config::RunConfig config,
                                                    const parallel::Ranks& ranks) {
  config.model = model;
  const int num_ranks = ranks.mesh().num_ranks();
  config.train.batch = num_ranks;  // nothing is trained: all ranks get the same sequences
  config.train.micro_batch = std::nullopt;
  plan::require_layout(config, num_ranks);
  return std::make_unique<parallel::ParallelModel>(
      config, ranks,
      model::Materials{.device = ranks.device(), .gradients = false, .new_values = false});
}

OpenedModel open_hugging_face(const fs::path& directory,
                              const config::RunConfig& config,
                              const parallel::Ranks& ranks) {
  OpenedModel opened{
      .path = directory,
      .model = make_model(hugging_face::read_config(directory).config, config, ranks),
      .end_ids = end_ids_of(directory)};
  checkpoint::load_hugging_face(directory, *opened.model);
  if (!tokenizer_files(directory).empty()) opened.tokenizer = directory;
  return opened;
}

OpenedModel open_checkpoint(const FoundCheckpoint& found,
                            const config::RunConfig& config,
                            const parallel::Ranks& ranks) {
  const state::Checkpoint checkpoint(found.path);
  OpenedModel opened{.path = found.path, .model = make_model(model_in(checkpoint), config, ranks)};
  const auto tokenizer = checkpoint.values().find("tokenizer");
  if (tokenizer != checkpoint.values().end()) opened.trained_on = tokenizer->second;
  checkpoint::load_weights(checkpoint, *opened.model);
  if (!tokenizer_files(found.run).empty()) opened.tokenizer = found.run;
  return opened;
}

}  // namespace

OpenedModel open_model(const fs::path& path,
                       const config::RunConfig& config,
                       const parallel::Ranks& ranks) {
  if (is_hugging_face_directory(path)) return open_hugging_face(path, config, ranks);
  if (const auto found = find_best_checkpoint(path)) return open_checkpoint(*found, config, ranks);
  refuse_as_model(path);
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

// open_model.h -- opens the model at a path, ready to run.
//
//   const OpenedModel opened = open_model("gpt2", config, ranks);
//   opened.model->config().context
//
// A Hugging Face directory, a run's directory (its best checkpoint by validation loss, else its
// newest), or one checkpoint of a run: app/model_path.h tells them apart.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/data/token_id.h"
#include "shoal/data/tokenizer/tokenizer.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/parallel/ranks.h"

#include "app/tokenizer_choice.h"

namespace shoal::app {

struct OpenedModel {
  std::filesystem::path path;
  std::unique_ptr<parallel::ParallelModel> model = nullptr;       // in fp32
  std::optional<std::filesystem::path> tokenizer = std::nullopt;  // the one beside the model
  std::vector<data::TokenId> end_ids = {};                        // tokens that end a text
  // Identity of the tokenizer whose tokens it was trained on, if the model is a run's.
  std::optional<std::string> trained_on = std::nullopt;
};

// Opens a model: each rank reads whole tensors, one at a time, and keeps its part. Throws
// UsageError when the path is no model, or the model does not fit `config.parallel`; DataError when its
// files are invalid. Collective.
OpenedModel open_model(const std::filesystem::path& path,
                       const config::RunConfig& config,
                       const parallel::Ranks& ranks);

// Returns the chosen tokenizer, or the model's own. Throws UsageError when there is neither.
std::shared_ptr<const data::Tokenizer> tokenizer_of(const OpenedModel& model,
                                                    const TokenizerChoice& choice);

constexpr const char* kModelHelp =
    "directory of a run or of one of its checkpoints, or a Hugging Face directory (config.json and "
    "model.safetensors)";
constexpr const char* kModelsOwnTokenizer = "the model's own tokenizer.json without it";

}  // namespace shoal::app

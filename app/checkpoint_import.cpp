#include <iostream>
#include <memory>

#include "shoal/core/error.h"
#include "shoal/hugging_face/weight_source.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/state/checkpoint_writer.h"

#include "app/byte_progress.h"
#include "app/checkpoint_commands.h"
#include "app/model_path.h"
#include "app/model_weights.h"
#include "app/tokenizer_choice.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using state::TensorSpec;

constexpr uint64_t kBlock = uint64_t{16} << 20;  // numbers of a piece

struct ImportWords {
  std::string model;
  std::string output;
};

// Each weight in boxes of rows.
std::vector<state::PieceSpec> pieces_of(const std::vector<TensorSpec>& specs) {
  std::vector<state::PieceSpec> pieces;
  for (const TensorSpec& weight : specs) {
    for_each_block(weight.shape, kBlock, [&](const Box& block) {
      pieces.push_back(
          {{state::name_in_checkpoint(weight.name), weight.dtype, weight.shape}, block});
    });
  }
  return pieces;
}

void write(const hugging_face::WeightSource& source,
           const std::vector<TensorSpec>& specs,
           const fs::path& root,
           const state::Values& values) {
  ByteProgress shown("import");
  state::Progress& progress = shown.progress();
  progress.total = static_cast<uint64_t>(parameters_in(specs)) * sizeof(float);
  state::CheckpointWriter writer(root, /*step=*/0, pieces_of(specs));
  std::vector<float> numbers;
  for (const TensorSpec& weight : specs) {
    for_each_block(weight.shape, kBlock, [&](const Box& block) {
      numbers.resize(elements_of(block));
      source.read(weight, block, numbers);
      writer.write(std::as_bytes(std::span(numbers)));
      progress.done += numbers.size() * sizeof(float);
    });
  }
  writer.commit(values);
}

void import_model(const ImportWords& words) {
  const fs::path directory = words.model;
  if (!is_hugging_face_directory(directory))
    throw UsageError(
        format("'{}' is no Hugging Face directory: there is no config.json in it", words.model));
  const hugging_face::DescribedModel model = read_hugging_face_model(directory);
  const std::vector<TensorSpec> specs = weights_of(model.config);
  const hugging_face::DirectoryWeights source(directory, model, specs);
  make_output_directory(words.output);
  const fs::path root = fs::path(words.output) / kCheckpoints;
  if (state::latest(root))
    throw UsageError(format("--output is {}, a run that has checkpoints: choose another directory",
                            words.output));
  write(source, specs, root, {{"config", config_text(model.config)}});
  if (!tokenizer_files(directory).empty()) keep_tokenizer(directory, words.output);
  std::cout << format("{} parameters written to {}\n", parameters_in(specs), words.output);
}

}  // namespace

void add_checkpoint_import(Arguments& command) {
  const auto words = std::make_shared<ImportWords>();
  Arguments importing =
      command.subcommand("import", "a run from a Hugging Face directory: its weights as step 0",
                         [words] { import_model(*words); });
  importing.footer(
      "  shoal checkpoint import llama-3-8b --output runs/llama\n\n"
      "For generate, eval, diff and export. To train on from a model, name its directory as\n"
      "train.init_from: there is no state of an optimizer here.");
  importing.option("MODEL", words->model, "directory with config.json and safetensors",
                   {.shown = "DIR", .required = true});
  importing.option("--output", words->output, "directory of the run to make",
                   {.shown = "RUN", .required = true});
}

}  // namespace shoal::app

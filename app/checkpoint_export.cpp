#include <iostream>
#include <memory>

#include "shoal/core/error.h"
#include "shoal/hugging_face/export.h"

#include "app/byte_progress.h"
#include "app/checkpoint_commands.h"
#include "app/model_path.h"
#include "app/model_weights.h"
#include "app/tokenizer_choice.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

struct ExportWords {
  std::string model;
  std::string output;
  std::string dtype = "fp32";
  int max_file_megabytes = 5000;
};

state::DType type_named(const std::string& name) {
  if (name == "fp32") return state::DType::kF32;
  if (name == "bf16") return state::DType::kBf16;
  if (name == "fp16") return state::DType::kF16;
  throw UsageError(format("--dtype is '{}', but must be fp32, bf16 or fp16", name));
}

void write(const hugging_face::WeightSource& source,
           const config::ModelConfig& config,
           const std::vector<state::TensorSpec>& specs,
           const ExportWords& words) {
  ByteProgress shown("export");
  hugging_face::export_model(
      source, config, specs, words.output,
      {.dtype = type_named(words.dtype),
       .max_file_bytes = static_cast<uint64_t>(words.max_file_megabytes) * 1'000'000},
      shown.progress());
}

// Where a tokenizer may lie beside the model, and the model's parameters.
struct Source {
  fs::path directory;
  int64_t parameters = 0;
};

Source export_run(const FoundCheckpoint& found, const ExportWords& words) {
  const state::Checkpoint checkpoint(found.path);
  const config::ModelConfig config = model_in(checkpoint);
  const std::vector<state::TensorSpec> specs = weights_of(config);
  const hugging_face::CheckpointWeights source(checkpoint, specs);
  make_output_directory(words.output);
  write(source, config, specs, words);
  return {found.run, parameters_in(specs)};
}

Source export_again(const fs::path& directory, const ExportWords& words) {
  const hugging_face::DescribedModel model = read_hugging_face_model(directory);
  const std::vector<state::TensorSpec> specs = weights_of(model.config);
  const hugging_face::DirectoryWeights source(directory, model, specs);
  make_output_directory(words.output);
  std::error_code none_there;
  if (fs::equivalent(directory, words.output, none_there))
    throw UsageError(
        format("--output is {}, which is what is read: choose another directory", words.output));
  write(source, model.config, specs, words);
  return {directory, parameters_in(specs)};
}

void export_model(const ExportWords& words) {
  (void)type_named(words.dtype);  // a mistake there is told before anything is read
  const fs::path path = words.model;
  const auto checkpoint =
      is_hugging_face_directory(path) ? std::nullopt : find_best_checkpoint(path);
  if (!checkpoint && !is_hugging_face_directory(path)) refuse_as_model(path);
  const Source source = checkpoint ? export_run(*checkpoint, words) : export_again(path, words);
  if (!tokenizer_files(source.directory).empty()) keep_tokenizer(source.directory, words.output);
  std::cout << format("{} parameters written to {}\n", source.parameters, words.output);
}

}  // namespace

void add_checkpoint_export(Arguments& command) {
  const auto words = std::make_shared<ExportWords>();
  Arguments exporting = command.subcommand(
      "export", "a Hugging Face directory, as transformers' from_pretrained opens it",
      [words] { export_model(*words); });
  exporting.footer(
      "  shoal checkpoint export runs/small --output small-hf --dtype bf16\n\n"
      "Writes config.json, safetensors and the tokenizer.");
  exporting.option("MODEL", words->model,
                   "a run (its best checkpoint by validation loss, else its newest), a checkpoint, "
                   "or a Hugging Face directory",
                   {.shown = "DIR", .required = true});
  exporting.option("--output", words->output, "directory to write",
                   {.shown = "DIR", .required = true});
  exporting.option("--dtype", words->dtype, "of the weights: fp32 (default), bf16 or fp16",
                   {.shown = "TYPE"});
  exporting.option("--max-file-megabytes", words->max_file_megabytes,
                   "larger models are cut into several files (default 5000)",
                   {.shown = "N", .range = {{1, 1'000'000}}});
}

}  // namespace shoal::app

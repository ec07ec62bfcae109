#include "app/engine/cmd_export.h"

#include <iostream>

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/core/error.h"
#include "shoal/core/units.h"

#include "app/arguments.h"
#include "app/engine/open_model.h"
#include "app/tokenizer_choice.h"

namespace shoal::app {
namespace {

at::ScalarType type_named(const std::string& name) {
  if (name == "fp32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  throw UsageError(format("--dtype is '{}', but must be fp32, bf16 or fp16", name));
}

}  // namespace

int run_export(const std::vector<std::string>& arguments) {
  std::string path;
  std::string output;
  std::string dtype = "fp32";
  int max_file_megabytes = 5000;
  Arguments command("shoal checkpoint", "Turn a checkpoint into a Hugging Face directory.");
  Arguments to_hf = command.subcommand(
      "export",
      "config.json, safetensors and the tokenizer, as transformers' from_pretrained opens them\n\n"
      "  shoal checkpoint export runs/small --output small-hf --dtype bf16",
      [&] {
        const at::ScalarType type = type_named(dtype);
        const OpenedModel model = open_model(path);
        make_output_directory(output);
        checkpoint::save_hugging_face(
            output, *model.decoder,
            {.dtype = type,
             .max_file_bytes = static_cast<uint64_t>(max_file_megabytes) * 1'000'000});
        if (model.tokenizer) keep_tokenizer(*model.tokenizer, output);
        std::cout << format("{} parameters written to {}\n", model.decoder->parameters(), output);
      });
  to_hf.option("MODEL", path, kModelHelp, {.shown = "DIR", .required = true});
  to_hf.option("--output", output, "directory to write", {.shown = "DIR", .required = true});
  to_hf.option("--dtype", dtype, "of the weights: fp32 (default), bf16 or fp16", {.shown = "TYPE"});
  to_hf.option("--max-file-megabytes", max_file_megabytes,
               "larger models are cut into several files",
               {.shown = "N", .range = {{1, 1'000'000}}});
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app

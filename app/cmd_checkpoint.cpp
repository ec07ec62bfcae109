#include "app/cmd_checkpoint.h"

#include <iostream>

#include "shoal/core/error.h"
#include "shoal/core/units.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"

#include "app/arguments.h"
#include "app/report.h"
#include "app/sibling_process.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

// A checkpoint, or the newest one of a run.
fs::path checkpoint_at(const fs::path& path) {
  if (fs::exists(path / state::kCheckpointManifest)) return path;
  if (const auto newest = state::latest(path / "checkpoints")) return newest->path;
  throw UsageError(format("'{}' is neither a checkpoint nor a run with one", path.string()));
}

Report inspected(const fs::path& path) {
  const state::Checkpoint checkpoint(path);
  Report report;
  Report::Section& whole = report.section("checkpoint");
  uint64_t bytes = 0;
  for (const state::DataFile& file : checkpoint.files()) bytes += file.bytes;
  whole.add("path", path.string())
      .add("step", static_cast<int64_t>(checkpoint.step()))
      .add("tensors", static_cast<int64_t>(checkpoint.tensors().size()))
      .add("files", static_cast<int64_t>(checkpoint.files().size()))
      .add("bytes", static_cast<int64_t>(bytes));
  Report::Section& values = report.section("values");
  for (const auto& [key, value] : checkpoint.values()) {
    if (value.find('\n') == std::string::npos) values.add(key, value);
  }
  Report::Section& tensors = report.section("tensors");
  for (const state::TensorSpec& tensor : checkpoint.tensors())
    tensors.add(tensor.name,
                format("{} {}", state::dtype_name(tensor.dtype), state::describe(tensor.shape)));
  return report;
}

Report verified(const fs::path& path) {
  const state::Verified found = state::verify(path);
  Report report;
  report.section("verified")
      .add("path", path.string())
      .add("tensors", static_cast<int64_t>(found.tensors))
      .add("pieces", static_cast<int64_t>(found.pieces))
      .add("bytes", static_cast<int64_t>(found.bytes));
  return report;
}

}  // namespace

int run_checkpoint(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "export")
    become(Sibling::kEngine, "checkpoint", arguments);
  std::string path;
  bool json = false;
  const auto print = [&](const Report& report) {
    std::cout << (json ? report.json() : report.text());
  };
  Arguments command("shoal checkpoint",
                    "Look at checkpoints, or turn one into a Hugging Face directory (export).");
  Arguments inspect = command.subcommand("inspect", "what is in one",
                                         [&] { print(inspected(checkpoint_at(path))); });
  Arguments verify = command.subcommand("verify", "read every byte and compare the checksums",
                                        [&] { print(verified(checkpoint_at(path))); });
  for (Arguments* sub : {&inspect, &verify}) {
    sub->option("PATH", path, "a checkpoint, or a run: its newest",
                {.shown = "DIR", .required = true});
    sub->flag("--json", json, "as JSON");
  }
  command.footer("shoal checkpoint export, which needs the engine, has a help of its own.");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app

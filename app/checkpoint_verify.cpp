#include <iostream>
#include <memory>

#include "shoal/core/quantities.h"
#include "shoal/state/checkpoint.h"

#include "app/byte_progress.h"
#include "app/checkpoint_commands.h"
#include "app/model_path.h"
#include "app/report.h"

namespace shoal::app {
namespace {

struct VerifyWords {
  std::string path;
  bool json = false;
};

void verify(const VerifyWords& words) {
  const std::filesystem::path path = newest_checkpoint(words.path);
  state::Verified found;
  double seconds = 0;
  {
    ByteProgress shown("verify");
    found = state::verify(path, shown.progress());
    seconds = shown.seconds();
  }
  const auto bytes = static_cast<int64_t>(found.bytes);
  Report report;
  report.section("verified")
      .add("path", path.string())
      .add("tensors", found.tensors)
      .add("pieces", found.pieces)
      .add("bytes", bytes, format("{} ({})", bytes, format_bytes(bytes)))
      .add("seconds", seconds,
           format("{:.2f} ({:.0f} MB/s)", seconds, static_cast<double>(bytes) / seconds / 1e6));
  std::cout << (words.json ? report.json() : report.text());
}

}  // namespace

void add_checkpoint_verify(Arguments& command) {
  const auto words = std::make_shared<VerifyWords>();
  Arguments verifying = command.subcommand("verify", "read every byte and compare the checksums",
                                           [words] { verify(*words); });
  verifying.option("PATH", words->path, "a checkpoint, or a run: its newest",
                   {.shown = "DIR", .required = true});
  verifying.flag("--json", words->json, "as JSON");
}

}  // namespace shoal::app

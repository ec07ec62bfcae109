// The executable `shoal`: everything that needs no torch. Commands above the torch line are handed
// to shoal-engine.

#include <array>
#include <iostream>

#include "shoal/core/error.h"
#include "shoal/version.h"

#include "app/bench_loader.h"
#include "app/bench_tokenizer.h"
#include "app/build_commit.h"
#include "app/cmd_checkpoint.h"
#include "app/cmd_config.h"
#include "app/cmd_course.h"
#include "app/cmd_doctor.h"
#include "app/cmd_launch.h"
#include "app/cmd_plan.h"
#include "app/cmd_report.h"
#include "app/cmd_schedule.h"
#include "app/cmd_tokenizer.h"
#include "app/cmd_top.h"
#include "app/completion.h"
#include "app/edge.h"
#include "app/sibling_process.h"

namespace {

using shoal::app::Command;

// What is measured without torch is measured here.
int bench(const std::vector<std::string>& arguments) {
  if (arguments.empty())
    throw shoal::UsageError(
        "shoal bench needs a subcommand: tokenizer, loader, comm, gemm or memory (see shoal bench "
        "--help)");
  if (!arguments.empty() && arguments[0] == "tokenizer")
    return shoal::app::run_bench_tokenizer({arguments.begin() + 1, arguments.end()});
  if (!arguments.empty() && arguments[0] == "loader")
    return shoal::app::run_bench_loader({arguments.begin() + 1, arguments.end()});
  shoal::app::become(shoal::app::Sibling::kEngine, "bench", arguments);
}

// Arrow takes longer to load than everything else here takes to run.
int prepare(const std::vector<std::string>& arguments) {
  shoal::app::become(shoal::app::Sibling::kPrepare, "prepare", arguments);
}

int train(const std::vector<std::string>& arguments) {
  shoal::app::become(shoal::app::Sibling::kEngine, "train", arguments);
}

int generate(const std::vector<std::string>& arguments) {
  shoal::app::become(shoal::app::Sibling::kEngine, "generate", arguments);
}

int eval(const std::vector<std::string>& arguments) {
  shoal::app::become(shoal::app::Sibling::kEngine, "eval", arguments);
}

int verify(const std::vector<std::string>& arguments) {
  shoal::app::become(shoal::app::Sibling::kEngine, "verify", arguments);
}

// What this executable is, then what the engine beside it is.
int version(const std::vector<std::string>& arguments) {
  std::cout << "shoal " << shoal::kVersion << ", commit " << shoal::app::build_commit() << "\n";
  if (!find_sibling(shoal::app::Sibling::kEngine)) {
    std::cout << "without an engine: what needs no torch\n";
    return 0;
  }
  std::cout << std::flush;
  shoal::app::become(shoal::app::Sibling::kEngine, "--version", arguments);
}

constexpr std::array<Command, 18> kCommands = {{
    {"doctor", "what this build, host and job can do", shoal::app::run_doctor},
    {"config", "check a config, explain its keys", shoal::app::run_config},
    {"launch", "start and supervise the ranks of a job", shoal::app::run_launch},
    {"tokenizer", "text to token ids and back", shoal::app::run_tokenizer},
    {"prepare", "text, JSONL, Parquet or tokens into token shards", prepare},
    {"train", "train a model as a config says", train},
    {"top", "how a run is doing", shoal::app::run_top},
    {"report", "a run as one HTML page", shoal::app::run_report_command},
    {"generate", "text that a model writes behind a prompt", generate},
    {"eval", "loss, perplexity and multiple choice of a model", eval},
    {"verify", "does a layout train like one rank?", verify},
    {"plan", "what ranks of a layout will do, before they are started", shoal::app::run_plan},
    {"schedule", "a pipeline schedule: its picture, bubble and activations",
     shoal::app::run_schedule},
    {"checkpoint", "inspect, verify, compare, prune, export and import checkpoints",
     shoal::app::run_checkpoint},
    {"bench", "measured ceilings, and how close shoal gets", bench},
    {"course", "labs on distributed training, with answers that are checked",
     shoal::app::run_course},
    {"completion", "make a shell complete commands, options and keys", shoal::app::run_completion},
    {"--version", "", version},
}};

}  // namespace

int main(int argc, char** argv) { return shoal::app::run_main(kCommands, argc, argv); }

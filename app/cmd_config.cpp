#include "app/cmd_config.h"

#include <iostream>
#include <optional>

#include "shoal/config/describe.h"
#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/config/run_config.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"

#include "app/arguments.h"

namespace shoal::app {
namespace {

struct ConfigOptions {
  std::string file;
  std::vector<std::string> sets;
  std::optional<int> ranks;
  std::optional<int> ranks_per_node;
  std::string key;
};

// Returns as many ranks as the degrees make; dp_shard: auto is one.
int ranks_of(const config::ParallelConfig& parallel) {
  const int64_t ranks = config::ranks_asked_for(parallel);
  if (ranks > kMaxRanks)
    throw UsageError(
        format("the degrees of section parallel make more than {} ranks: lower one", kMaxRanks));
  return static_cast<int>(ranks);
}

void print_resolved(const ConfigOptions& options) {
  config::Request request{.file = options.file, .sets = options.sets};
  if (options.ranks) {
    request.job =
        config::JobSize{.ranks = *options.ranks, .ranks_per_node = options.ranks_per_node};
  }
  const config::RunConfig config = config::load_or_throw(request);
  if (!options.ranks) {  // rules about several keys hold on any number of ranks: on these as well
    request.job = config::JobSize{.ranks = ranks_of(config.parallel)};
    (void)config::load_or_throw(request);
  }
  std::cout << config::to_yaml(config);
}

void add_check(Arguments& parent, ConfigOptions& options) {
  Arguments check =
      parent.subcommand("check", "print what a config comes to, or all that is wrong with it",
                        [&options] { print_resolved(options); });
  check.option("file", options.file, "the config", {.shown = "FILE", .required = true});
  check.option("--set", options.sets, "change one key, after the file", {.shown = "KEY=VALUE"});
  check.option("--ranks", options.ranks, "also check it against this many ranks",
               {.shown = "N", .range = {{1, kMaxRanks}}});
  check.option("--ranks-per-node", options.ranks_per_node, "of which so many share a node",
               {.shown = "N", .range = {{1, kMaxRanks}}, .needs = "--ranks"});
}

}  // namespace

int run_config(const std::vector<std::string>& arguments) {
  ConfigOptions options;
  const config::RunConfig defaults;
  const config::Table table = config::table_of(defaults);

  Arguments command("shoal config",
                    "Check a config, explain its keys.\n\n"
                    "  shoal config check configs/gpt2_124m.yaml --ranks 8\n"
                    "  shoal config help parallel.sharding\n");
  add_check(command, options);
  Arguments help = command.subcommand("help", "explain all keys, a section or one key",
                                      [&] { std::cout << config::to_help(table, options.key); });
  help.option("key", options.key, "such as parallel.tp", {.shown = "KEY"});
  command.subcommand("schema", "print the JSON Schema, for editors",
                     [&] { std::cout << config::to_json_schema(table); });
  command.subcommand("docs", "print docs/config.md",
                     [&] { std::cout << config::to_markdown(table); });
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app

#include "app/cmd_config.h"

#include <iostream>
#include <optional>

#include "shoal/config/describe.h"
#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/config/run_config.h"

#include "app/arguments.h"

namespace shoal::app {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> sets;
  std::optional<int> ranks;
  std::optional<int> ranks_per_node;
  std::string key;
};

void print_resolved(const Options& options) {
  config::Request request{.file = options.file, .sets = options.sets};
  if (options.ranks) {
    request.world =
        config::World{.ranks = *options.ranks, .ranks_per_node = options.ranks_per_node};
  }
  std::cout << config::to_yaml(config::load_or_throw(request));
}

void add_check(CLI::App& parent, Options& options) {
  CLI::App* check =
      parent.add_subcommand("check", "print what a config comes to, or all that is wrong with it");
  check->add_option("file", options.file, "the config")->required()->type_name("FILE");
  check->add_option("--set", options.sets, "change one key, after the file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  const CLI::Range ranks(1, config::kMaxRanks);
  CLI::Option* total =
      check->add_option("--ranks", options.ranks, "also check it against this many ranks")
          ->check(ranks);
  check->add_option("--ranks-per-node", options.ranks_per_node, "of which so many share a node")
      ->check(ranks)
      ->needs(total);
  check->callback([&options] { print_resolved(options); });
}

}  // namespace

int run_config(const std::vector<std::string>& arguments) {
  Options options;
  const config::RunConfig defaults;
  const config::Table table = config::table_of(defaults);

  CLI::App app("Check a config, explain its keys.", "shoal config");
  app.require_subcommand(1);
  add_check(app, options);
  CLI::App* help = app.add_subcommand("help", "explain all keys, a section or one key");
  help->add_option("key", options.key, "such as parallel.tp")->type_name("KEY");
  help->callback([&] { std::cout << config::to_help(table, options.key); });
  app.add_subcommand("schema", "print the JSON Schema, for editors")->callback([&table] {
    std::cout << config::to_json_schema(table);
  });
  app.add_subcommand("docs", "print docs/config.md")->callback([&table] {
    std::cout << config::to_markdown(table);
  });

  parse(app, arguments);
  return 0;
}

}  // namespace shoal::app

// cmd_config.h -- `shoal config`: check a config, explain its keys, print what they generate.
//
//   shoal config check FILE [--set KEY=VALUE ...] [--ranks N] [--ranks-per-node N]
//   shoal config help [KEY]
//   shoal config schema
//   shoal config docs
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

// `arguments` are the words after `config`. Prints on standard output. Throws UsageError for a
// wrong command line, and with the complete report for a config with problems.
int run_config(const std::vector<std::string>& arguments);

}  // namespace shoal::app

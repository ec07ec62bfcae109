// arguments.h -- command lines: CLI11's parser with shoal's errors.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace shoal::app {

// Reads the words after the command's name. False when they asked for help, which has then been printed. Wrong ones
// are a UsageError that says how to see the help.
bool parse(CLI::App& app, const std::vector<std::string>& words);

}  // namespace shoal::app

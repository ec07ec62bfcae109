#include "app/arguments.h"

#include <iostream>

#include "shoal/core/error.h"

namespace shoal::app {

bool parse(CLI::App& app, const std::vector<std::string>& words) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants them in reverse
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& e) {
    throw UsageError(format("{}: {} (see {} --help)", app.get_name(), e.what(), app.get_name()));
  }
}

}  // namespace shoal::app

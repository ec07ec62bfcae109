#include "shoal/core/format.h"

#include <exception>
#include <iterator>

#include <fmt/args.h>
#include <fmt/format.h>

namespace shoal {

std::string format_list(std::string_view pattern, std::initializer_list<FormatArgument> arguments) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  store.reserve(arguments.size(), 0);
  for (const FormatArgument& argument : arguments) {
    std::visit([&store](const auto& value) { store.push_back(value); }, argument.value());
  }
  try {
    return fmt::vformat({pattern.data(), pattern.size()}, store);
  } catch (const std::exception& e) {
    return std::string(pattern) + " (wrong pattern: " + e.what() + ")";
  }
}

}  // namespace shoal

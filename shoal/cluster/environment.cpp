#include "shoal/cluster/environment.h"

#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {

Environment Environment::of_this_process() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment(std::move(variables));
}

std::optional<std::string> Environment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string Environment::get_or(const std::string& name, const std::string& fallback) const {
  return get(name).value_or(fallback);
}

std::optional<int> Environment::get_number(const std::string& name) const {
  const std::optional<std::string> text = get(name);
  if (!text) return std::nullopt;
  const std::optional<int> number = number_in<int>(*text);
  if (!number || *number < 0) {
    throw UsageError(
        format("environment variable {} is '{}', but must be a number of 0 or more: the launcher "
               "sets it, so unset it if you exported it by hand",
               name, *text));
  }
  return number;
}

std::optional<int> Environment::get_port(const std::string& name) const {
  const std::optional<int> port = get_number(name);
  if (port && (*port < 1 || *port > 65535)) {
    throw UsageError(
        format("environment variable {} is {}, but must be a port from 1 to 65535", name, *port));
  }
  return port;
}

int Environment::require_number(const std::string& name) const {
  const std::optional<int> number = get_number(name);
  if (!number) {
    throw UsageError(
        format("environment variable {} is not set, but its neighbours are: start the ranks with "
               "one launcher, or set it",
               name));
  }
  return *number;
}

}  // namespace shoal::cluster

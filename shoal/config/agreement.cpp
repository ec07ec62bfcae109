#include "shoal/config/agreement.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "shoal/config/field.h"

namespace shoal::config {
namespace {

// The content of files has to be the same, wherever a host keeps them.
constexpr std::array<std::string_view, 9> kOfAHost = {
    "run.directory",  "run.take_over", "data.sources",
    "data.threads",   "train.threads", "train.prometheus_port",
    "comm.interface", "plan.cluster",  "parallel.schedule_file"};

bool is_in_section(std::string_view key, std::string_view section) {
  return key.starts_with(section) && key.substr(section.size()).starts_with('.');
}

template <class Keep>
std::string lines_of(const RunConfig& config, const Keep& keep) {
  std::string text;
  for (const Entry& entry : table_of(config)) {
    if (entry.field && keep(entry.key)) text += format("{}: {}\n", entry.key, entry.field->write());
  }
  return text;
}

}  // namespace

std::string shared_by_ranks(const RunConfig& config) {
  return lines_of(config, [](std::string_view key) {
    return !is_in_section(key, "log") &&
           std::find(kOfAHost.begin(), kOfAHost.end(), key) == kOfAHost.end();
  });
}

std::string kept_by_run(const RunConfig& config) {
  return lines_of(config, [](std::string_view key) {
    const bool of_training = key == "model.dropout" || key == "model.init_std";
    return (is_in_section(key, "model") && !of_training) || key == "optimizer.kind";
  });
}

std::string difference(const std::string& mine, const std::string& theirs) {
  for (size_t at = 0, at_theirs = 0; at < mine.size() || at_theirs < theirs.size();) {
    const size_t end = std::min(mine.find('\n', at), mine.size());
    const size_t end_theirs = std::min(theirs.find('\n', at_theirs), theirs.size());
    const std::string line = mine.substr(std::min(at, mine.size()), end - at);
    const std::string other =
        theirs.substr(std::min(at_theirs, theirs.size()), end_theirs - at_theirs);
    if (line != other) {
      const std::string key = line.substr(0, line.find(": ") + 2);
      return format("{}, not {}", line, other.starts_with(key) ? other.substr(key.size()) : other);
    }
    at = end + 1;
    at_theirs = end_theirs + 1;
  }
  return "";
}

}  // namespace shoal::config

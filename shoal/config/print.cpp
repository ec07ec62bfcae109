#include "shoal/config/print.h"

#include <algorithm>

#include "shoal/config/text.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::config {

std::string to_yaml(const Table& table) {
  std::string text;
  for (const Entry& entry : table) {
    const auto depth = static_cast<size_t>(std::count(entry.key.begin(), entry.key.end(), '.'));
    const std::string indent(2 * depth, ' ');
    text +=
        format("{}{}:{}\n", indent, entry.name(), entry.field ? " " + entry.field->write() : "");
  }
  return text;
}

std::string to_yaml(const RunConfig& config) { return to_yaml(table_of(config)); }

void save(const RunConfig& config, const std::filesystem::path& path) {
  write_file_atomically(path, to_yaml(config));
}

std::vector<Difference> diff(const Table& before, const Table& after) {
  SHOAL_CHECK(before.size() == after.size(), "{} entries and {}", before.size(), after.size());
  std::vector<Difference> differences;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!before[i].field) continue;
    Difference difference{before[i].key, before[i].field->write(), after[i].field->write()};
    if (difference.before != difference.after) differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<Difference> diff(const RunConfig& before, const RunConfig& after) {
  return diff(table_of(before), table_of(after));
}

bool operator==(const RunConfig& a, const RunConfig& b) { return diff(a, b).empty(); }

}  // namespace shoal::config

#include "shoal/metrics/csv.h"

#include <algorithm>
#include <string>

#include "shoal/core/number_in.h"

namespace shoal::metrics {
namespace {

std::string head() {
  std::string line;
  for (const Field& field : fields()) {
    if (!line.empty()) line += ',';
    line += field.name;
  }
  return line;
}

std::optional<int64_t> step_of_row(std::string_view line) {
  const auto commas = static_cast<size_t>(std::count(line.begin(), line.end(), ','));
  if (commas + 1 != fields().size()) return std::nullopt;
  return number_in<int64_t>(line.substr(0, line.find(',')));
}

}  // namespace

Csv::Csv(const std::filesystem::path& path, int64_t continue_from_step) : rows_(path) {
  rows_.cut(continue_from_step, step_of_row, head());
}

void Csv::write(const StepRecord& record) {
  std::string line;
  for (const Field& field : fields()) {
    if (!line.empty()) line += ',';
    if (const std::optional<Number> number = field.of(record)) line += exact(*number);
  }
  rows_.append(line + "\n");
}

void Csv::text(int64_t /*step*/, std::string_view /*tag*/, std::string_view /*text*/) {}

void Csv::flush() { rows_.sync(); }

}  // namespace shoal::metrics

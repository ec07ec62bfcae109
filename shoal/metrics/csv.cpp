#include "shoal/metrics/csv.h"

#include <algorithm>
#include <charconv>
#include <string>

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
  int64_t step = 0;
  const char* cell_end = line.data() + line.find(',');
  const auto [stop, error] = std::from_chars(line.data(), cell_end, step);
  if (error != std::errc() || stop != cell_end) return std::nullopt;
  return step;
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

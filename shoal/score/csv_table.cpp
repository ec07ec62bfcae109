#include "shoal/score/csv_table.h"

#include <algorithm>
#include <utility>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::score {
namespace {

constexpr size_t kMaxTableBytes = size_t{1} << 22;

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const size_t comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

CsvTable::CsvTable(std::string name, std::string_view text) : name_(std::move(name)) {
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_of("\"\r") != std::string_view::npos)
      throw DataError(format("{}:{}: a quote or a carriage return; cells here need neither", name_,
                             line_number));
    std::vector<std::string> cells = cells_of(line);
    if (line_number == 1) {
      columns_ = std::move(cells);
      std::vector<std::string> sorted = columns_;
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        throw DataError(format("{}:1: two columns have one name", name_));
      continue;
    }
    if (cells.size() != columns_.size())
      throw DataError(format("{}:{}: {} cells, but there are {} columns", name_, line_number,
                             cells.size(), columns_.size()));
    rows_.push_back(std::move(cells));
  }
  if (columns_.empty()) throw DataError(format("{}: empty, without a line of column names", name_));
}

const std::string& CsvTable::cell(size_t row, std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) throw DataError(format("{}:1: no column `{}`", name_, column));
  return rows_.at(row)[static_cast<size_t>(found - columns_.begin())];
}

std::string CsvTable::place(size_t row) const { return format("{}:{}", name_, row + 2); }

CsvTable read_csv(const std::filesystem::path& path) {
  return {path.string(), read_file(path, kMaxTableBytes)};
}

}  // namespace shoal::score

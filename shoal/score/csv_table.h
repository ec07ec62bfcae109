// csv_table.h -- a table of short cells: a line of column names, then a line for each row.
//
//   const CsvTable table = read_csv("published/kor22.csv");
//   table.cell(0, "layers"), table.place(0)          // "48", "published/kor22.csv:2"
//
// Cells are separated by commas and hold neither commas nor quotes nor carriage returns: a file that needs
// quoting is refused rather than guessed at. Arrow's reader would do, but loading Arrow takes longer than
// `shoal` takes to run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::score {

class CsvTable {
 public:
  // Throws DataError with name and line when a row has more or fewer cells than there are columns, a
  // column is named twice, or a cell would need quotes.
  CsvTable(std::string name, std::string_view text);

  [[nodiscard]] size_t num_rows() const { return rows_.size(); }
  // Throws DataError when there is no such column.
  [[nodiscard]] const std::string& cell(size_t row, std::string_view column) const;
  [[nodiscard]] std::string place(size_t row) const;

 private:
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Reads a file of at most 4 MiB.
CsvTable read_csv(const std::filesystem::path& path);

}  // namespace shoal::score

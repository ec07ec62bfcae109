// row_file.h -- files that grow by whole rows, and are cut back when a run resumes.
//
//   RowFile rows("metrics.jsonl");
//   rows.cut(100, [](std::string_view line) { return step_of(line); });
//   rows.append("{...}\n");
//
// A row is one write(2), so a reader who follows the file sees it whole, and a process that is
// killed leaves at most the beginning of one, at the end. Nothing is buffered: rows that are lost
// when a process is killed would be missing for ever from a run that resumes after them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "shoal/core/files.h"

namespace shoal::metrics {

class RowFile {
 public:
  // Returns the step of a line without its line end; nothing if it is not a row of this file.
  using StepOf = std::function<std::optional<int64_t>(std::string_view line)>;

  // Opens the file to append; creates it if it does not exist.
  explicit RowFile(std::filesystem::path path);

  // Creates a new file; returns nothing when the name is taken.
  static std::optional<RowFile> create(const std::filesystem::path& path);

  // Removes everything from the first row on whose step is `step` or more, and an incomplete last
  // row. Throws DataError for a file that does not begin with `head` and its line end, unless it is
  // empty or holds only the beginning of that, which is then written anew. Cutting is one
  // ftruncate: after a crash the file is as it was or as it should be.
  void cut(int64_t step, const StepOf& step_of, std::string_view head = "");

  // What cannot be written whole is not written: after DataError the file is as it was.
  void append(std::string_view bytes);
  void sync();

 private:
  RowFile(std::filesystem::path path, UniqueFd fd);

  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace shoal::metrics

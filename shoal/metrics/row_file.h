// row_file.h -- files that grow by whole rows, and are cut back to one.
//
//   RowFile rows("metrics.jsonl");
//   rows.cut(100, [](std::string_view line) { return step_of(line); });
//   rows.append("{...}\n");
//
// A row is one write(2), so a reader who follows the file sees it whole, and a process that is
// killed leaves at most the beginning of one, at the end. Nothing is held back: what is buffered
// when a process is killed would be missing for ever from a run that resumes behind it.
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
  // The step of a line without its end; nothing if it is not a row of this file.
  using StepOf = std::function<std::optional<int64_t>(std::string_view line)>;

  // Opened to append, made if it is not there.
  explicit RowFile(std::filesystem::path path);

  // A new file; nothing when there is one of this name.
  static std::optional<RowFile> create(const std::filesystem::path& path);

  // Drops everything from the first row on whose step is `step` or more, and a row without its end.
  // A file that does not begin with `head` and its line end is refused, unless it is empty or holds
  // only the beginning of that, which is then written anew. Cutting is one ftruncate: after a crash
  // the file is as it was or as it should be.
  void cut(int64_t step, const StepOf& step_of, std::string_view head = "");

  void append(std::string_view bytes);
  void sync();

 private:
  RowFile(std::filesystem::path path, UniqueFd fd);

  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace shoal::metrics

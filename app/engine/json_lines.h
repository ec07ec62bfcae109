// json_lines.h -- a file of one JSON value per line, or standard input ("-"), a line at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace shoal::app {

// Calls `use` with each line that is not blank. A DataError or UsageError from it is rethrown as a
// DataError that begins with the file and the line.
void for_each_line(const std::filesystem::path& file,
                   const std::function<void(std::string_view line)>& use);

}  // namespace shoal::app

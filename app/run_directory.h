// run_directory.h -- the run that a command is about.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace shoal::app {

inline constexpr const char* kRunHelp = "directory of a run; default: the newest one in runs/";

// Returns the directory that was named, or that of the run whose metrics were written last. Throws
// UsageError when it is no run.
std::filesystem::path run_directory(const std::optional<std::string>& named);

// Returns how long ago a file was changed; 0 if it does not exist.
double seconds_since_change(const std::filesystem::path& file);

}  // namespace shoal::app

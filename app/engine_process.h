// engine_process.h -- the way across the torch line: this process becomes shoal-engine.
//
// The engine is a sibling executable and not a shared library: both link core, config and cluster
// statically, and one process must not hold two copies of them. exec keeps the process id, so
// launchers and signals notice nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

// Beside this executable, or in ../libexec/shoal of an installation.
std::optional<std::filesystem::path> find_engine();

// UsageError when this build has no engine.
[[noreturn]] void become_engine(const std::string& command,
                                const std::vector<std::string>& arguments);

}  // namespace shoal::app

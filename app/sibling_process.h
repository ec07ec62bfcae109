// sibling_process.h -- commands that need large libraries: this process becomes another executable.
//
// `shoal` itself starts in two milliseconds, on login nodes as well, because it links neither torch nor
// Arrow. What needs them is a sibling executable and not a shared library: all link core, config and
// cluster statically, and one process must not hold two copies of them. exec keeps the process id, so
// launchers and signals notice nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

enum class Sibling {
  kEngine,   // shoal-engine: what stands above the torch line
  kPrepare,  // shoal-prepare: Arrow
};

// Returns the sibling's path: beside this executable, or in ../libexec/shoal of an installation.
std::optional<std::filesystem::path> find_sibling(Sibling sibling);

// Replaces this process by the sibling. Throws UsageError when this build does not have it.
[[noreturn]] void become(Sibling sibling,
                         const std::string& command,
                         const std::vector<std::string>& arguments);

}  // namespace shoal::app

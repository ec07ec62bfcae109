#include "app/run_directory.h"

#include <algorithm>
#include <chrono>

#include <sys/stat.h>

#include "shoal/config/run_config.h"
#include "shoal/core/error.h"

namespace shoal::app {

namespace fs = std::filesystem;

double seconds_since_change(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double then = static_cast<double>(status.st_mtim.tv_sec) +
                      static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
  return std::max(0.0, std::chrono::duration<double>(now).count() - then);
}

namespace {

// Returns the run whose metrics were written last.
fs::path newest_run_in(const fs::path& parent) {
  fs::path newest;
  double age = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const fs::path metrics = entry.path() / "metrics.jsonl";
    std::error_code cannot_tell;
    if (!fs::exists(metrics, cannot_tell)) continue;
    const double its_age = seconds_since_change(metrics);
    if (newest.empty() || its_age < age) {
      newest = entry.path();
      age = its_age;
    }
  }
  if (newest.empty())
    throw UsageError(
        format("there is no run in {}: name the directory of one, such as `shoal top "
               "runs/shakespeare`",
               (fs::current_path() / parent).string()));
  return newest;
}

}  // namespace

fs::path run_directory(const std::optional<std::string>& named) {
  fs::path directory = named ? fs::path(*named) : newest_run_in(config::IdentityConfig{}.directory);
  if (std::error_code cannot_tell; !fs::exists(directory / "config.yaml", cannot_tell))
    throw UsageError(format("{} is no run: it has no config.yaml", directory.string()));
  return directory;
}

}  // namespace shoal::app

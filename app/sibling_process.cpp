#include "app/sibling_process.h"

#include <cerrno>
#include <cstdlib>

#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

std::string name_of(Sibling sibling) {
  return sibling == Sibling::kEngine ? "shoal-engine" : "shoal-prepare";
}

// libgomp's threads spin for milliseconds before they sleep, and take a core from who else needs it: with another process
// on one of two cores a small run took twice as long. It reads this when it is loaded; a user's setting wins.
void let_idle_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr)
    ::setenv("GOMP_SPINCOUNT", "10000", /*overwrite=*/0);
}

}  // namespace

std::optional<fs::path> find_sibling(Sibling sibling) {
  const std::string name = name_of(sibling);
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& candidate : {here / name, here.parent_path() / "libexec" / "shoal" / name}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

void become(Sibling sibling,
            const std::string& command,
            const std::vector<std::string>& arguments) {
  const std::optional<fs::path> program = find_sibling(sibling);
  if (!program) {
    throw UsageError(format(
        "shoal {} needs {}, and there is no {} beside this executable: {}", command,
        sibling == Sibling::kEngine ? "the engine" : "Arrow", name_of(sibling),
        sibling == Sibling::kEngine
            ? "this is a build without torch (preset lean); build with `cmake --preset release`"
            : "build and install all of shoal"));
  }
  std::vector<std::string> words = {program->string(), command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (sibling == Sibling::kEngine) let_idle_threads_sleep();
  ::execv(program->c_str(), pointers.data());
  throw UsageError(format("cannot start {}: {}", program->string(), describe_errno(errno)));
}

}  // namespace shoal::app

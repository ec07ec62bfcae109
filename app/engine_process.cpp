#include "app/engine_process.h"

#include <cerrno>

#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEngineName = "shoal-engine";

}  // namespace

std::optional<fs::path> find_engine() {
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& candidate :
       {here / kEngineName, here.parent_path() / "libexec" / "shoal" / kEngineName}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

void become_engine(const std::string& command, const std::vector<std::string>& arguments) {
  const std::optional<fs::path> engine = find_engine();
  if (!engine) {
    throw UsageError(format(
        "shoal {} needs the engine, and there is no {} beside this executable: this is a build "
        "without torch (preset lean); build with `cmake --preset release`",
        command, kEngineName));
  }
  std::vector<std::string> words = {engine->string(), command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(engine->c_str(), pointers.data());
  throw UsageError(format("cannot start {}: {}", engine->string(), describe_errno(errno)));
}

}  // namespace shoal::app

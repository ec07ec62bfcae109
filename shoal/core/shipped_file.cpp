#include "shoal/core/shipped_file.h"

#include <system_error>

namespace shoal {

namespace fs = std::filesystem;

fs::path own_or_shipped(const fs::path& path) {
  std::error_code ignored;
  if (path.empty() || path.is_absolute() || fs::exists(path, ignored)) return path;
  for (const fs::path& part : path)
    if (part == "..") return path;  // nothing outside of what is shipped
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  // bin/, libexec/shoal/, and build/PRESET/ of a source tree.
  for (const fs::path& root :
       {here.parent_path() / "share" / "shoal",
        here.parent_path().parent_path() / "share" / "shoal", here.parent_path().parent_path()}) {
    if (fs::exists(root / path, ignored)) return root / path;
  }
  return path;
}

}  // namespace shoal

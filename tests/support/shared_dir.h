// shared_dir.h -- a temporary directory that is the same in every process of a test with ranks: the
// first one makes it and leaves its name in the environment.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/support/temp_dir.h"

namespace shoal::tests {

class SharedDir {
 public:
  explicit SharedDir(const char* variable) {
    if (std::getenv(variable) == nullptr) {
      own_.emplace();
      ::setenv(variable, own_->path().c_str(), 1);
    }
    path_ = std::getenv(variable);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Returns whether this process made the directory.
  [[nodiscard]] bool is_own() const { return own_.has_value(); }

  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::optional<TempDir> own_;
  std::filesystem::path path_;
};

}  // namespace shoal::tests

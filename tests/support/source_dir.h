// source_dir.h -- where the sources are, for tests that read files of the tree. ctest says it.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "shoal/core/error.h"

namespace shoal::tests {

inline std::filesystem::path source_dir() {
  const char* const directory = std::getenv("SHOAL_SOURCE_DIR");
  SHOAL_CHECK(directory != nullptr, "SHOAL_SOURCE_DIR is not set: run this by ctest");
  return directory;
}

}  // namespace shoal::tests

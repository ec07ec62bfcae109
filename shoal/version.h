// version.h -- the version of this library, for those who compile against several. CMake reads it here.
#pragma once

#define SHOAL_VERSION_MAJOR 0
#define SHOAL_VERSION_MINOR 1
#define SHOAL_VERSION_PATCH 0

namespace shoal {

constexpr const char* kVersion = "0.1.0";

}  // namespace shoal

// shipped_file.h -- files that come with shoal: configs/, clusters/, published/, course/.
//
//   const fs::path file = own_or_shipped("configs/shakespeare.yaml");
//
// One command line then works in a clone, beside an unpacked package, and in any directory.
#pragma once

#include <filesystem>

namespace shoal {

// Returns the path as it is when it exists or is absolute; else the file of this name that comes with this
// executable, below share/shoal of an installation or in the source tree of a build; else the path as it is.
std::filesystem::path own_or_shipped(const std::filesystem::path& path);

}  // namespace shoal

// descriptors.h -- raises the limit of open files: one descriptor per peer exceeds the usual 1024.
#pragma once

#include <cstddef>
#include <string_view>

namespace shoal::cluster {

// Raises this process's limit to the hard limit. Throws UsageError when that is less than `count`,
// which `what` needs, and 256 more for everything else.
void need_descriptors(size_t count, std::string_view what);

}  // namespace shoal::cluster

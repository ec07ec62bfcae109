// descriptors.h -- room for one file descriptor per peer, which the usual limit of 1024 has not.
#pragma once

#include <cstddef>
#include <string_view>

namespace shoal::cluster {

// Raises this process's limit as far as it goes. UsageError when that is less than `count`, which is
// needed for `what`.
void need_descriptors(size_t count, std::string_view what);

}  // namespace shoal::cluster

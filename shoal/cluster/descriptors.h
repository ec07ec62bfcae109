// descriptors.h -- open files of this process: their limit, since one per peer exceeds the usual 1024,
// and those that it inherited.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace shoal::cluster {

// Raises this process's limit to the hard limit. Throws UsageError when that is less than `count`,
// which `what` needs, and 256 more for everything else.
void need_descriptors(size_t count, std::string_view what);

// Returns the descriptor whose number a supervisor has put into a variable of the environment; nothing
// when it is not set, is no number, or is one of the standard streams.
std::optional<int> inherited_descriptor(const char* variable);

}  // namespace shoal::cluster

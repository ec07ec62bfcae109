// nearest.h -- "did you mean": the known word closest to a misspelt one.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace shoal {

// Returns the number of insertions, deletions, substitutions and swaps of neighbours that turn one
// word into the other.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the closest candidate if it is close enough to be what was meant: at most a third of the
// word wrong.
std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);

}  // namespace shoal

// require.h -- what fuzz targets do with what they find.
#pragma once

#include <cstdlib>
#include <optional>

#include "shoal/core/error.h"

namespace shoal::tests {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Nothing when the input is refused, as it may be: with a DataError.
template <class Read>
auto read_or_refuse(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const DataError&) {
    return std::nullopt;
  }
}

}  // namespace shoal::tests

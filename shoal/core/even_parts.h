// even_parts.h -- a number of things cut into parts that differ by at most one.
#pragma once

#include <cstdint>

namespace shoal {

// Returns where part `index` of `count` begins; part `count` is the end of all. Nothing overflows
// as long as count * count does not.
constexpr uint64_t even_part_begin(uint64_t all, uint64_t index, uint64_t count) {
  return all / count * index + all % count * index / count;
}

}  // namespace shoal

#include "shoal/comm/call.h"

#include <array>

namespace shoal::comm {

std::string_view op_name(Op op) {
  constexpr std::array<std::string_view, 11> kNames = {
      "all_reduce",     "reduce",     "broadcast", "all_gather", "gather", "scatter",
      "reduce_scatter", "all_to_all", "send",      "recv",       "barrier"};
  return kNames[static_cast<size_t>(op)];
}

}  // namespace shoal::comm

#include "shoal/blueprint/traffic.h"

#include <array>
#include <cstddef>

namespace shoal::blueprint {
namespace {

constexpr std::array<std::string_view, kNumTraffics> kTrafficNames = {"weights",
                                                                      "gradients",
                                                                      "gradients over copies",
                                                                      "partial gradients",
                                                                      "tied matrix",
                                                                      "tensor activations",
                                                                      "keys and values",
                                                                      "qk norm",
                                                                      "embedding",
                                                                      "head",
                                                                      "activations",
                                                                      "activation gradients",
                                                                      "targets",
                                                                      "loss",
                                                                      "norm",
                                                                      "matrices"};

constexpr std::array<std::string_view, 5> kExchangeNames = {"all_gather", "reduce_scatter",
                                                            "all_reduce", "send", "recv"};

}  // namespace

std::string_view traffic_name(Traffic traffic) {
  return kTrafficNames[static_cast<size_t>(traffic)];
}

std::string_view exchange_name(Exchange exchange) {
  return kExchangeNames[static_cast<size_t>(exchange)];
}

}  // namespace shoal::blueprint

// pairwise.h -- a backend whose gathers, scatters and reduce-scatters are direct sends. Private to
// comm/.
//
// Gloo runs a ring over the whole buffer, with a full copy of the large side; sending each part
// straight to its destination takes a third of the time and no copy. Everything else passes through
// to the backend underneath.
#pragma once

#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/core/activity.h"

namespace shoal::comm {

c10::intrusive_ptr<c10d::Backend> make_pairwise_backend(c10::intrusive_ptr<c10d::Backend> inner,
                                                        const std::string& group,
                                                        ActivityBoard* board);

}  // namespace shoal::comm

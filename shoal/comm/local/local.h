// local.h -- the backend of a group of one rank: every call is a copy or a no-op and completes at
// once. Private to comm/.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace shoal::comm {

c10::intrusive_ptr<c10d::Backend> make_local_backend();

}  // namespace shoal::comm

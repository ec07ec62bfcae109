// process_group.h -- constructs c10d's Gloo backend, and is the only place that knows its types.
// Private to comm/gloo/.
//
// The wheel ships no gloo headers and Debian's are older than the library inside it, so
// process_group.cpp is the one file that includes them: it constructs, and hands out c10d::Backend.
// CI checks with nm that its object defines no gloo symbol, which would override the library's own.
#pragma once

#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "shoal/core/quantities.h"

namespace shoal::comm {

// The listening socket and event loop that all Gloo groups of this process share.
using GlooDevice = std::shared_ptr<void>;

GlooDevice make_gloo_device(const std::string& address);

// Connects to every other member; collective over the group.
c10::intrusive_ptr<c10d::Backend> make_gloo_process_group(
    const GlooDevice& device,
    const c10::intrusive_ptr<c10d::Store>& store,
    int rank,
    int size,
    Duration deadline);

}  // namespace shoal::comm

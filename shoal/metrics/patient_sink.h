// patient_sink.h -- a sink whose file may not be writable for a while, because the disk is full or a
// file system fails. A run of weeks does not end for that: what could not be written is kept in memory
// and written, in its order, when it can be. A write that hangs holds up the step, as the watcher tells.
#pragma once

#include <memory>
#include <string>

#include "shoal/metrics/sink.h"

namespace shoal::metrics {

// `name` is what warnings call it.
std::unique_ptr<Sink> patient(std::string name, std::unique_ptr<Sink> sink);

}  // namespace shoal::metrics

// rank_device.h -- the device that a rank computes on and communicates from: decided here alone.
// Private to comm/; others ask World::device().
#pragma once

#include <c10/core/Device.h>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/config/comm_config.h"
#include "shoal/config/train_config.h"

namespace shoal::comm {

// Returns the GPU of this rank, or the CPU. The GPU is the one that has the rank's number on its
// host, or the only one that the scheduler lets it see. kAuto is a GPU where there is one, unless
// the backend was chosen and communicates from CPUs only. Throws UsageError when the device and the
// backend do not fit, when there is no GPU, or fewer than ranks.
c10::Device rank_device(config::DeviceKind kind,
                        config::Backend backend,
                        const cluster::Membership& me,
                        const cluster::Environment& environment);

}  // namespace shoal::comm

// limits.h -- bounds that several modules check.
#pragma once

namespace shoal {

constexpr int kMaxRanks = 1 << 20;  // ranks of one job

}  // namespace shoal

// device_peaks.h -- the peak rates of GPUs for dense matrix products, from their makers' data sheets:
// what MFU is a share of. A CPU's peak is measured: arithmetic.h.
#pragma once

#include <optional>
#include <string_view>

#include "shoal/config/train_config.h"

namespace shoal::train {

// Returns floating-point operations per second; nothing for a device that is not in the table, and
// in fp64. Figures for sparse matrices, twice as large on most data sheets, are no peak of ours.
std::optional<double> dense_peak(std::string_view device_name, config::Precision precision);

}  // namespace shoal::train

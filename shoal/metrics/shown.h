// shown.h -- metrics as people read them at a glance.
//
//   shown(4.123456, Show::kLoss);  // "4.1235"
//   shown(0.0003, Show::kPower);   // "3.00e-4"
//
// Times: 4.5 ms, 450 ms, 3.21 s, 45.2 s, 3m20s, 1h02m, 2d03h. All kinds: nan, inf, -inf.
#pragma once

#include <string>

#include "shoal/metrics/step_record.h"

namespace shoal::metrics {

std::string shown(const Number& number, Show show);

}  // namespace shoal::metrics

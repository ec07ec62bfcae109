// tensor_norm.h -- an RMS norm over features that are split over ranks.
#pragma once

#include <memory>

#include "shoal/comm/group.h"
#include "shoal/model/functions/rowwise.h"

namespace shoal::parallel {

// `width` counts the features of all ranks. Every rank has the same rows.
std::unique_ptr<model::RowWise> split_rms_norm(model::Weight weight,
                                               int64_t width,
                                               double epsilon,
                                               const comm::Group& group);

}  // namespace shoal::parallel

// tensor_norm.h -- an RMS norm over features of which each rank has some.
#pragma once

#include <memory>

#include "shoal/comm/group.h"
#include "shoal/model/functions/rowwise.h"

namespace shoal::parallel {

// `width`: of all ranks together. Every rank has the same rows.
std::unique_ptr<model::RowWise> split_rms_norm(model::Weight weight,
                                               int64_t width,
                                               double epsilon,
                                               const comm::Group& group);

}  // namespace shoal::parallel

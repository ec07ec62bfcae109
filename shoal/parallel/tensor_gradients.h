// tensor_gradients.h -- the rest of the gradients of tensor-parallel ranks.
//
// A weight without parts is on every rank, which has the gradient of its own rows or heads only: norms,
// biases behind a sum over ranks, learned positions. Their gradients are added up before the update. What
// has parts is complete: no element of it is on two ranks.
#pragma once

#include "shoal/comm/group.h"
#include "shoal/model/weights.h"

namespace shoal::parallel {

// Once a step, when the gradients are closed. One communication.
void sum_partial_gradients(model::UnitWeights& unit, comm::Group& tp);

}  // namespace shoal::parallel

// tensor_gradients.h -- sums the partial gradients of tensor-parallel ranks.
//
// An unsplit weight is on every rank, and each rank has the gradient of its own rows or heads only:
// norms, biases after a sum over ranks, learned positions. Their gradients are summed before the
// update. The gradient of a split weight is complete: no element of it is on two ranks.
#pragma once

#include "shoal/comm/group.h"
#include "shoal/model/weights.h"

namespace shoal::parallel {

// Called once a step for each unit, when its gradients are closed. Makes one call.
void sum_partial_gradients(model::UnitWeights& unit, comm::Group& tp);

}  // namespace shoal::parallel

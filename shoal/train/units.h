// units.h -- the units of a decoder as the optimizer sees them, and the gradients of all of them.
#pragma once

#include <vector>

#include "shoal/model/decoder.h"
#include "shoal/optim/optimizer.h"

namespace shoal::train {

std::vector<optim::FlatUnit> flat_units(const model::Decoder& decoder);

// Before the first micro-batch of a step, and after the last.
void open_gradients(const model::Decoder& decoder);
void close_gradients(const model::Decoder& decoder);

}  // namespace shoal::train

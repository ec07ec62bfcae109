// one_weight.h -- a unit with a single weight, for tests of what layers do with it.
#pragma once

#include "shoal/blueprint/decoder.h"

namespace shoal::tests {

inline blueprint::UnitBlueprint one_weight(const std::string& name,
                                           const Shape& shape,
                                           const blueprint::Init& init = {}) {
  return blueprint::unit_of(config::UnitKind::kHead, "unit",
                            {blueprint::whole_weight(name, shape, init)});
}

}  // namespace shoal::tests

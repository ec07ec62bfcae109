#include "shoal/blueprint/weight_spec.h"

namespace shoal::blueprint {

Shape WeightSpec::local_shape() const {
  Shape local = parts.front().extent;
  for (size_t i = 1; i < parts.size(); ++i) local[0] += parts[i].extent[0];
  return local;
}

int64_t WeightSpec::local_elements() const {
  int64_t elements = 0;
  for (const Box& part : parts) elements += static_cast<int64_t>(elements_of(part));
  return elements;
}

WeightSpec whole_weight(std::string name, Shape shape, const Init& init) {
  std::vector<Box> parts = {whole_of(shape)};
  return {
      .name = std::move(name), .shape = std::move(shape), .init = init, .parts = std::move(parts)};
}

}  // namespace shoal::blueprint

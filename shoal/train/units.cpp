#include "shoal/train/units.h"

#include <ATen/ATen.h>

namespace shoal::train {
namespace {

// Embedding and head are looked up by row: AdamW's.
bool muon_may_update(const model::UnitWeights& unit) {
  return unit.name() != "embedding" && unit.name() != "head";
}

}  // namespace

std::vector<optim::FlatUnit> flat_units(const model::Decoder& decoder) {
  std::vector<optim::FlatUnit> flat;
  for (const auto& unit : decoder.units()) {
    const model::UnitWeights& weights = unit->weights();
    if (weights.size() == 0) continue;  // a head that is tied, behind a norm without weights
    optim::FlatUnit entry{
        .name = weights.name(),
        .weight = weights.flat_weight(),
        .gradient = weights.flat_gradient(),
        .ranges = {{.end = weights.decayed_elements(), .decays = true},
                   {.begin = weights.decayed_elements(), .end = weights.elements()}}};
    for (size_t i = 0; muon_may_update(weights) && i < weights.size(); ++i) {
      const at::Tensor& weight = weights.weight(i);
      if (weight.dim() == 2)
        entry.matrices.push_back({weight.storage_offset(), weight.size(0), weight.size(1)});
    }
    flat.push_back(std::move(entry));
  }
  return flat;
}

void open_gradients(const model::Decoder& decoder) {
  for (const auto& unit : decoder.units()) unit->weights().open_gradients();
}

void close_gradients(const model::Decoder& decoder) {
  for (const auto& unit : decoder.units()) unit->weights().close_gradients();
}

}  // namespace shoal::train

#include "shoal/generate/scorer.h"

#include <utility>

namespace shoal::generate {

Scorer::Scorer(const model::Decoder& decoder)
    : Scorer(decoder,
             decoder.units().front()->weights().flat_weight().device(),
             [&decoder](const model::Pass& pass) { return decoder.forward(pass); }) {}

Scorer::Scorer(const model::Decoder& decoder, c10::Device device, Forward forward)
    : decoder_(&decoder), device_(device), forward_(std::move(forward)) {}

}  // namespace shoal::generate

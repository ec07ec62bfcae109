// scorer.h -- whom generation and evaluation ask: a decoder in this process, or one that is spread over ranks.
//
//   Continuation text(decoder, capacity);                    // a decoder is asked as it is
//
//   const Scorer scorer(model.decoder(), device,             // a parallel::ParallelModel by all its ranks, which
//                       [&](const model::Pass& pass) {       // get the same answer
//                         return model.forward(pass);
//                       });
//
// A small value. What it asks outlives it.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "shoal/model/decoder.h"

namespace shoal::generate {

class Scorer {
 public:
  using Forward = std::function<at::Tensor(const model::Pass& pass)>;

  // NOLINTNEXTLINE(google-explicit-constructor): a decoder scores
  Scorer(const model::Decoder& decoder);
  // `decoder` is any part of the one that `forward` runs through.
  Scorer(const model::Decoder& decoder, c10::Device device, Forward forward);

  // For its config, and for the positions of a pass; its weights may be elsewhere.
  [[nodiscard]] const model::Decoder& decoder() const { return *decoder_; }
  [[nodiscard]] c10::Device device() const { return device_; }

  // The loss of a pass with targets, the scores of one without.
  [[nodiscard]] at::Tensor forward(const model::Pass& pass) const { return forward_(pass); }

 private:
  const model::Decoder* decoder_;
  c10::Device device_;
  Forward forward_;
};

}  // namespace shoal::generate

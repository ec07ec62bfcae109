// custom_model -- a model and a training loop of one's own on shoal's parts: a small Llama that learns to
// count upwards modulo 13, in double precision.
//
//   build/release/examples/custom_model

#include <exception>
#include <iostream>

#include <ATen/ATen.h>

#include "shoal/model/decoder.h"
#include "shoal/optim/optimizer.h"
#include "shoal/train/step.h"
#include "shoal/train/units.h"

namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kLength = 12;
constexpr int64_t kNumbers = 13;

// Rows that count from different numbers, each with its targets.
shoal::model::Pass counting(const shoal::model::Decoder& decoder, int64_t first) {
  const at::Tensor start = at::arange(first, first + kRows).unsqueeze(1);
  const at::Tensor numbers = (start + at::arange(kLength + 1)).remainder(kNumbers);
  shoal::model::Pass pass{.tokens = numbers.narrow(1, 0, kLength).contiguous(), .training = true};
  pass.targets = {.classes = numbers.narrow(1, 1, kLength).reshape({-1}),
                  .scale = 1.0 / (kRows * kLength)};
  decoder.place(pass);
  return pass;
}

}  // namespace

int main() try {
  using namespace shoal;
  config::ModelConfig shape;
  shape.layers = 2, shape.width = 32, shape.heads = 4, shape.kv_heads = 2, shape.hidden = 48;
  shape.context = kLength, shape.vocab_size = kNumbers, shape.tied = false;
  shape.positions = config::Positions::kRotary, shape.norm = config::NormKind::kRms;
  shape.activation = config::Activation::kSwiglu, shape.bias = config::BiasOn::kNone;

  model::PlainBuilder builder({.recompute = config::Recompute::kSelective, .seed = 1});
  model::Decoder decoder(shape, builder);
  decoder.materialize({.dtype = at::kDouble, .gradient_dtype = at::kDouble, .seed = 1});
  optim::Optimizer optimizer({}, train::flat_units(decoder));

  for (int step = 0; step <= 100; ++step) {
    train::open_gradients(decoder);
    const at::Tensor loss =
        train::forward_backward(decoder, counting(decoder, step), config::Recompute::kNone);
    train::close_gradients(decoder);
    optimizer.step(/*lr=*/1e-2, loss);
    if (step % 50 == 0) std::cout << "step " << step << ", loss " << loss.item<double>() << "\n";
  }
  return 0;
} catch (const std::exception& e) {
  std::cerr << "custom_model: " << e.what() << "\n";
  return 1;
}

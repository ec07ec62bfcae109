#include "app/engine/device_cases.h"

#include <memory>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/blueprint/products.h"
#include "shoal/model/decoder.h"
#include "shoal/model/functions/attention.h"
#include "shoal/model/functions/linear.h"
#include "shoal/optim/optimizer.h"

namespace shoal::app {
namespace {

at::Tensor numbers(const std::vector<int64_t>& shape, const model::Materials& materials) {
  return at::randn(shape, at::TensorOptions(at::kFloat).device(materials.device))
      .to(materials.dtype);
}

at::Tensor leaf_of(const at::Tensor& x) { return x.detach().requires_grad_(true); }

}  // namespace

std::function<void()> product_case(const ProductShape& shape, const model::Materials& materials) {
  const blueprint::LinearSpec spec{
      .name = "measured", .in = {shape.in}, .out = {{shape.out}}, .std = 0.02};
  const auto unit = std::make_shared<model::UnitWeights>(
      blueprint::unit_of(config::UnitKind::kBlock, "measured", blueprint::weights_of(spec, {})));
  unit->materialize(materials);
  return [unit, weight = unit->named(spec.weight()), x = numbers({shape.rows, shape.in}, materials),
          gradient = numbers({shape.rows, shape.out}, materials)] {
    unit->open_gradients();
    torch::autograd::backward({model::linear(leaf_of(x), weight, {})}, {gradient});
  };
}

std::function<void()> attention_case(const AttentionShape& shape,
                                     const model::Materials& materials) {
  const auto& [sequences, heads, tokens, features] = shape;
  // As a block has them: the heads of a token lie side by side.
  const auto by_head = [&] {
    return numbers({sequences, tokens, heads, features}, materials).transpose(1, 2);
  };
  return [q = by_head(), k = by_head(), v = by_head(), gradient = by_head()] {
    const at::Tensor y = model::attention(leaf_of(q), leaf_of(k), leaf_of(v), {});
    torch::autograd::backward({y}, {gradient});
  };
}

UnitCase unit_case(config::UnitKind kind,
                   const config::ModelConfig& model,
                   int64_t sequences,
                   const model::Materials& materials) {
  const bool head = kind == config::UnitKind::kHead;
  struct Built {
    model::PlainBuilder builder{model::BuilderOptions{.seed = 1}};
    std::unique_ptr<model::Decoder> decoder;
    model::Pass pass;
  };
  const auto built = std::make_shared<Built>();
  built->decoder = std::make_unique<model::Decoder>(
      model, built->builder, blueprint::UnitRange{.blocks = head ? 0 : 1, .head = head});
  built->decoder->make_tables(materials);
  model::UnitWeights& weights = built->decoder->units()[0]->weights();
  weights.materialize(materials);
  built->pass.tokens =
      at::zeros({sequences, model.context}, at::TensorOptions(at::kLong).device(materials.device));
  built->decoder->place(built->pass);
  if (head) built->pass.targets = {.classes = built->pass.tokens.flatten()};

  std::vector<std::function<void()>> parts;
  for (const blueprint::Product& product : blueprint::products_of(weights.blueprint(), model))
    parts.push_back(product_case({sequences * model.context, product.in, product.out}, materials));
  if (!head)
    parts.push_back(attention_case(
        {sequences, model.heads, model.context, model.features_per_head()}, materials));
  const at::Tensor x = numbers({sequences, model.context, model.width}, materials);
  return {.whole =
              [built, x] {
                model::Unit& unit = *built->decoder->units()[0];
                unit.weights().open_gradients();
                const at::Tensor y = unit.forward(leaf_of(x), built->pass);
                torch::autograd::backward({y}, {at::ones_like(y)});
                unit.weights().close_gradients();
              },
          .parts =
              [parts] {
                for (const auto& part : parts) part();
              }};
}

std::function<void()> update_case(int64_t elements, const model::Materials& materials) {
  const at::Tensor gradient =
      at::ones({elements}, at::TensorOptions(materials.gradient_dtype).device(materials.device));
  const std::vector<optim::FlatUnit> units = {
      {.name = "measured",
       .weight = numbers({elements}, materials),
       .gradient = gradient,
       .ranges = {{.begin = 0, .end = elements, .decays = true}}}};
  const auto optimizer = std::make_shared<optim::Optimizer>(config::OptimizerConfig{}, units);
  return [optimizer, loss = at::ones({}, gradient.options())] {
    constexpr size_t kUnit = 0;
    optimizer->begin(1e-3);
    optimizer->judge(loss, optimizer->squared_norm());
    optimizer->update({&kUnit, 1});
  };
}

std::function<void()> copy_case(int64_t bytes, const model::Materials& materials) {
  const auto options = at::TensorOptions(at::kFloat).device(materials.device);
  return [from = at::ones({bytes / 4}, options), to = at::empty({bytes / 4}, options)] {
    to.copy_(from);
  };
}

}  // namespace shoal::app

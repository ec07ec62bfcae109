#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/blueprint/decoder.h"
#include "shoal/blueprint/launches.h"
#include "shoal/blueprint/layers.h"
#include "shoal/blueprint/products.h"
#include "shoal/blueprint/tensor_split.h"

namespace shoal::blueprint {
namespace {

// shoal/blueprint/tensor_split.h
TEST(HeaderExamples, TensorSplit) {
  EXPECT_EQ(share_of(50'257, {.ranks = 4, .rank = 1}), (Share{12564, 12564}));
  EXPECT_EQ(share_of_groups(32, 4, {.ranks = 3, .rank = 2}), (Share{20, 12}));
}

// shoal/blueprint/layers.h
TEST(HeaderExamples, Layers) {
  const LinearSpec up{
      .name = "mlp.up", .in = {768}, .out = {{3072}}, .std = 0.02, .split = Split::kColumns};
  EXPECT_EQ(weights_of(up, {.ranks = 4, .rank = 1}).front().parts,
            (std::vector<Box>{{{768, 0}, {768, 768}}}));
}

// shoal/blueprint/decoder.h
void decoder(const struct config::ModelConfig& model) {
  struct {
    config::ModelConfig model;
  } config{model};
  const UnitRange all = UnitRange::all(config.model);
  for (const UnitBlueprint& unit : units_of(config.model, all, {.ranks = 8, .rank = 3}))
    unit.name, unit.layout.elements;
}

// shoal/blueprint/launches.h
TEST(HeaderExamples, Launches) {
  config::ModelConfig model;
  EXPECT_EQ(launches_of(config::UnitKind::kBlock, model, Pass::kForward, config::Recompute::kNone),
            10);
}

// shoal/blueprint/products.h
void products(const UnitBlueprint& unit, const config::ModelConfig& model) {
  for (const Product& product : products_of(unit, model))
    product.name, product.operations(/*rows=*/8192);
  operations_per_token(model, 4096);
}

}  // namespace
}  // namespace shoal::blueprint

#include "shoal/blueprint/products.h"

#include <gtest/gtest.h>

namespace shoal::blueprint {
namespace {

config::ModelConfig gpt2_124m() {
  config::ModelConfig model;
  model.layers = 12;
  model.width = 768;
  model.heads = 12;
  model.context = 1024;
  model.vocab_size = 50257;
  return model;
}

// 12 blocks of 12 * 768^2, the tied head of 50257 * 768, and attention over 1024 tokens.
TEST(Products, OperationsOfGpt2AreThoseOfPaLMsFormula) {
  constexpr double kMatrices = 12.0 * 12 * 768 * 768 + 50257.0 * 768;
  EXPECT_EQ(operations_per_token(gpt2_124m(), 1024), 6 * kMatrices + 12.0 * 12 * 768 * 1024);
}

TEST(Products, ABlockHasFour) {
  const std::vector<UnitBlueprint> units = units_of(gpt2_124m(), UnitRange::all(gpt2_124m()));
  EXPECT_TRUE(products_of(units.front(), gpt2_124m()).empty());
  const std::vector<Product> block = products_of(units[1], gpt2_124m());
  ASSERT_EQ(block.size(), 4U);
  EXPECT_EQ(block[0].in, 768);
  EXPECT_EQ(block[0].out, 3 * 768);
  EXPECT_EQ(block[3].in, 4 * 768);
  EXPECT_EQ(block[3].out, 768);
  EXPECT_EQ(block[3].operations(7), 2.0 * 7 * 4 * 768 * 768);
  const std::vector<Product> head = products_of(units.back(), gpt2_124m());
  ASSERT_EQ(head.size(), 1U);
  EXPECT_EQ(head[0].out, 50257);
}

// Three ranks split 12 heads, 3072 hidden features and 50257 rows: 50257 = 16753 + 16752 + 16752.
TEST(Products, OfTensorParallelRanksAddUp) {
  double whole = 0;
  double parts = 0;
  for (int rank = -1; rank < 3; ++rank) {
    const TensorPlace place = rank < 0 ? TensorPlace{} : TensorPlace{.ranks = 3, .rank = rank};
    for (const UnitBlueprint& unit : units_of(gpt2_124m(), UnitRange::all(gpt2_124m()), place)) {
      for (const Product& product : products_of(unit, gpt2_124m(), place))
        (rank < 0 ? whole : parts) += product.operations(1);
    }
  }
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace shoal::blueprint

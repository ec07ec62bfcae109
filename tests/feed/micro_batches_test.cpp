#include "shoal/feed/micro_batches.h"

#include <numeric>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_tensors.h"

namespace shoal::feed {
namespace {

constexpr int64_t kTokens = 11;

TokenBatch batch_of(int64_t rows) {
  return {.first_sample = 100,
          .first_row = 103,
          .tokens = tests::random_classes("tokens", {rows, kTokens + 1}, 61).to(at::kInt),
          .loss_mask = tests::random_classes("mask", {rows, kTokens}, 2).to(at::kByte),
          .document_lengths = std::vector<uint32_t>(static_cast<size_t>(rows), kTokens)};
}

TEST(MicroBatches, AreTheRowsInOrderAsEvenAsPossible) {
  const TokenBatch batch = batch_of(7);
  const std::vector<model::Pass> passes = micro_batches_of(batch, {.passes = 3});
  ASSERT_EQ(passes.size(), 3U);
  std::vector<at::Tensor> tokens;
  std::vector<at::Tensor> classes;
  std::vector<at::Tensor> masks;
  uint64_t row = 103;
  for (const model::Pass& pass : passes) {
    EXPECT_TRUE(pass.training);
    EXPECT_EQ(pass.first_row, row);
    EXPECT_GE(pass.tokens.size(0), 2);
    EXPECT_LE(pass.tokens.size(0), 3);
    row += static_cast<uint64_t>(pass.tokens.size(0));
    tokens.push_back(pass.tokens);
    classes.push_back(pass.targets->classes);
    masks.push_back(pass.targets->loss_mask);
  }
  EXPECT_TRUE(at::cat(tokens).equal(batch.tokens.narrow(1, 0, kTokens).to(at::kLong)));
  EXPECT_TRUE(
      at::cat(classes).equal(batch.tokens.narrow(1, 1, kTokens).reshape({-1}).to(at::kLong)));
  EXPECT_TRUE(at::cat(masks).equal(batch.loss_mask.reshape({-1})));
}

// Ranks with fewer rows run as many passes as the others, and count nothing in those that are left.
TEST(MicroBatches, BeyondTheRowsHaveNoTargets) {
  const TokenBatch batch = batch_of(2);
  const std::vector<model::Pass> passes = micro_batches_of(batch, {.passes = 5, .training = false});
  ASSERT_EQ(passes.size(), 5U);
  int64_t targets = 0;
  int64_t empty = 0;
  for (const model::Pass& pass : passes) {
    EXPECT_FALSE(pass.training);
    EXPECT_EQ(pass.tokens.size(0), 1);
    targets += model::num_targets(pass);
    empty += model::num_targets(pass) == 0 ? 1 : 0;
  }
  EXPECT_EQ(targets, batch.loss_mask.sum().item<int64_t>());
  EXPECT_EQ(empty, 3);
}

TEST(MicroBatches, KeepDocumentsApartOnRequest) {
  TokenBatch batch = batch_of(3);
  batch.document_lengths = {5, 6, 11, 2, 9};
  const std::vector<model::Pass> apart = micro_batches_of(batch, {.passes = 3});
  const at::Tensor positions = apart[0].documents.positions(1, kTokens, at::kCPU);
  ASSERT_TRUE(positions.defined());
  EXPECT_EQ(positions.view(-1)[5].item<int64_t>(), 0);
  EXPECT_EQ(positions.view(-1)[10].item<int64_t>(), 5);
  const std::vector<model::Pass> together =
      micro_batches_of(batch, {.passes = 3, .separate_documents = false});
  EXPECT_FALSE(together[0].documents.positions(1, kTokens, at::kCPU).defined());
}

}  // namespace
}  // namespace shoal::feed

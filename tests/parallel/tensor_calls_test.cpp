// The calls and kept activations of a tensor-parallel rank, in a recorded group: nobody answers, so
// values mean nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/call_log.h"
#include "shoal/comm/world.h"
#include "shoal/parallel/tensor/tensor_builder.h"
#include "shoal/parallel/tensor/tensor_linear.h"

#include "tests/model/one_weight.h"
#include "tests/parallel/tensor_case.h"
#include "tests/support/counting_allocator.h"

namespace shoal::parallel {
namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;

constexpr int kRanks = 4;
constexpr int64_t kBatch = 3;
constexpr int64_t kTokens = 19;
constexpr int64_t kOwnRows = 15;  // of 57

class OneOfFour : public ::testing::Test {
 protected:
  // Runs forward and backward through one block.
  std::vector<std::string> calls_of_block(const config::ModelConfig& config) {
    TensorBuilder builder(group_, {.recompute = config::Recompute::kSelective});
    model::Decoder decoder(config, builder, {.blocks = 1, .embedding = false, .head = false});
    decoder.make_tables({});
    decoder.units()[0]->weights().materialize({});
    model::Pass pass{.tokens = at::zeros({kBatch, kTokens}, at::kLong)};
    decoder.place(pass);
    log_.clear();
    const at::Tensor x = at::ones({kOwnRows, config.width}).requires_grad_(true);
    const at::Tensor y = decoder.units()[0]->forward(x, pass);
    EXPECT_EQ(y.sizes(), x.sizes());
    y.backward(at::ones_like(y));
    EXPECT_EQ(x.grad().sizes(), x.sizes());
    std::vector<std::string> calls;
    for (const comm::Call& call : log_.calls())
      calls.push_back(format("{} {} {}", comm::op_name(call.op), call.bytes, call.what));
    return calls;
  }

  comm::CallLog log_;
  std::unique_ptr<comm::World> world_ = comm::World::record(/*rank=*/1, kRanks, &log_);
  comm::Group group_ = world_->group("tp", {0, 1, 2, 3});
};

// 60 rows with padding, 20 features, 4 bytes. The backward pass gathers the inputs again, before it
// sums the gradient that this overlaps with.
TEST_F(OneOfFour, SendsItsRowsAndNothingElse) {
  EXPECT_THAT(calls_of_block(tensor_config("llama")),
              ElementsAre("all_gather 4800 input of blocks.0.attention.qkv.weight",
                          "reduce_scatter 4800 output of blocks.0.attention.out.weight",
                          "all_gather 4800 input of blocks.0.mlp.gate_up.weight",
                          "reduce_scatter 4800 output of blocks.0.mlp.down.weight",
                          "all_gather 4800 gradient of the output of blocks.0.mlp.down.weight",
                          "all_gather 4800 input of blocks.0.mlp.gate_up.weight",
                          "reduce_scatter 4800 gradient of the input of "
                          "blocks.0.mlp.gate_up.weight",
                          "all_gather 4800 gradient of the output of "
                          "blocks.0.attention.out.weight",
                          "all_gather 4800 input of blocks.0.attention.qkv.weight",
                          "reduce_scatter 4800 gradient of the input of "
                          "blocks.0.attention.qkv.weight"));
}

// Two features of keys and values each from every rank, of 57 rows.
TEST_F(OneOfFour, SendsSharedKeysAndValues) {
  const std::vector<std::string> calls =
      calls_of_block(with_heads(tensor_config("llama"), 7, 1, 6));
  ASSERT_EQ(calls.size(), 12U);
  EXPECT_EQ(calls[1], "all_gather 3648 keys and values");
  EXPECT_EQ(calls[9], "reduce_scatter 3648 gradients of keys and values");
}

TEST_F(OneOfFour, KeepsItsOwnRowsForTheBackwardPass) {
  CountingAllocator& memory = CountingAllocator::installed();
  constexpr int64_t kIn = 23;
  constexpr int64_t kOut = 7;
  model::UnitWeights unit(tests::one_weight("w", {kOut, kIn}, blueprint::Init::normal(1)));
  const model::Weight weight = unit.named("w");
  unit.materialize({});
  const auto norm = model::rms_norm({}, 1e-5);
  const at::Tensor x = at::ones({kOwnRows, kIn}).requires_grad_(true);
  const int64_t before = memory.current();
  const at::Tensor y =
      column_product(norm.get(), x, kBatch * kTokens, weight, {}, TensorRows(group_));
  ASSERT_TRUE(y.requires_grad());
  EXPECT_EQ(memory.current() - before, 4 * kBatch * kTokens * kOut) << "nothing but the result";
}

}  // namespace
}  // namespace shoal::parallel

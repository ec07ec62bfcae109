// Fused attention equals plain attention, with packed documents and with grouped queries.

#include "shoal/model/functions/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/model/functions/attention_products.h"

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using namespace tests;

struct Shape {
  const char* name;
  int64_t rows;
  int64_t heads;
  int64_t kv_heads;
  int64_t tokens;
  int64_t features;
  std::vector<uint32_t> lengths = {};  // of documents; empty: each row is one
};

// 601 tokens: more than the fused operator takes keys at a time (512).
const std::vector<Shape> kShapes = {
    {"rows", 3, 3, 3, 37, 7},
    {"documents", 2, 3, 3, 37, 7, {11, 23, 3, /**/ 1, 36}},
    {"shared_keys", 3, 6, 2, 29, 10},
    {"shared_keys_and_documents", 2, 6, 3, 41, 10, {41, /**/ 17, 5, 19}},
    {"long", 1, 2, 1, 601, 5},
    {"long_documents", 1, 2, 1, 601, 5, {577, 24}},
};

class FusedAttention : public ::testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(All, FusedAttention, ::testing::ValuesIn(kShapes), [](const auto& shape) {
  return shape.param.name;
});

struct Inputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor gradient;  // gradient of the output
  Documents documents;

  explicit Inputs(const Shape& shape)
      : q(random_numbers("q", {shape.rows, shape.heads, shape.tokens, shape.features})),
        k(random_numbers("k", {shape.rows, shape.kv_heads, shape.tokens, shape.features})),
        v(random_numbers("v", {shape.rows, shape.kv_heads, shape.tokens, shape.features})),
        gradient(random_numbers("g", {shape.rows, shape.heads, shape.tokens, shape.features})),
        documents(Documents::of_lengths(shape.lengths, shape.tokens)) {}
};

// Returns output, dq, dk, dv.
template <class Attention>
std::array<at::Tensor, 4> run(const Inputs& inputs, at::ScalarType dtype, Attention&& compute) {
  const auto leaf = [&](const at::Tensor& x) { return x.to(dtype).detach().requires_grad_(true); };
  const at::Tensor q = leaf(inputs.q);
  const at::Tensor k = leaf(inputs.k);
  const at::Tensor v = leaf(inputs.v);
  const at::Tensor output = compute(q, k, v, inputs.documents);
  torch::autograd::backward({output}, {inputs.gradient.to(dtype)});
  return {output.detach(), q.grad(), k.grad(), v.grad()};
}

std::array<at::Tensor, 4> run_plain(const Inputs& inputs) {
  return run(inputs, at::kDouble, [](const auto&... all) { return plain_attention(all...); });
}

TEST_P(FusedAttention, IsThePlainOneInDouble) {
  const Inputs inputs(GetParam());
  const auto plain = run_plain(inputs);
  const auto fused = run(inputs, at::kDouble, [](const auto&... all) { return attention(all...); });
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_LT(max_difference(plain[i], fused[i]), 1e-12) << "output, dq, dk, dv: " << i;
}

// Every result is a sum of products, and what it is off by is a share of the same sum of absolute
// values: n u for n terms, with u = 2^-24. A weight p = exp(s) / sum exp(s) is off by twice what
// scores are, and by its own sum over keys. Behind the weights of a gradient stand a product over
// features, a sum over keys, and one more sum over keys or over queries of all heads that share the
// key.
std::array<at::Tensor, 4> tolerances_in_single(const Inputs& inputs) {
  const double u = std::pow(2.0, -24);
  const int64_t tokens = inputs.q.size(2);
  const int64_t shared = inputs.q.size(1) / inputs.k.size(1);
  const auto terms = static_cast<double>(tokens * (shared + 2) + 2 * inputs.q.size(3) + 8);
  const double scale = 1 / std::sqrt(static_cast<double>(inputs.q.size(3)));
  // What each query takes of each value is what it takes of the identity.
  const at::Tensor identity =
      at::eye(tokens, at::kDouble).expand({inputs.k.size(0), inputs.k.size(1), -1, -1});
  const at::Tensor p = plain_attention(inputs.q, inputs.k, identity, inputs.documents);
  const at::Tensor q = inputs.q.abs();
  const at::Tensor k = inputs.k.abs().repeat_interleave(shared, 1);
  const at::Tensor v = inputs.v.abs().repeat_interleave(shared, 1);
  const at::Tensor g = inputs.gradient.abs();
  const at::Tensor inner = at::matmul(g, v.transpose(2, 3));
  const at::Tensor ds = p * (inner + (p * inner).sum(-1, /*keepdim=*/true)) * scale;
  const auto by_key = [&](const at::Tensor& x) {
    return x.view({x.size(0), -1, shared, x.size(2), x.size(3)}).sum(2);
  };
  const double score = at::matmul(q, k.transpose(2, 3)).max().item<double>() * scale * u *
                       static_cast<double>(inputs.q.size(3) + 1);
  const double share = 2 * score + terms * u;
  return {at::matmul(p, v) * share, at::matmul(ds, k) * share,
          by_key(at::matmul(ds.transpose(2, 3), q)) * share,
          by_key(at::matmul(p.transpose(2, 3), g)) * share};
}

TEST_P(FusedAttention, IsThePlainOneInSingle) {
  const Inputs inputs(GetParam());
  const auto plain = run_plain(inputs);
  const auto fused = run(inputs, at::kFloat, [](const auto&... all) { return attention(all...); });
  const auto allowed = tolerances_in_single(inputs);
  for (size_t i = 0; i < plain.size(); ++i) {
    const at::Tensor difference = (plain[i] - fused[i].to(at::kDouble)).abs();
    EXPECT_TRUE((difference <= allowed[i]).all().item<bool>()) << "output, dq, dk, dv: " << i;
    // The tolerance itself must be small, or the test shows nothing.
    EXPECT_LT(allowed[i].mean().item<double>(), 1e-2 * plain[i].abs().mean().item<double>());
  }
}

// Where no fused operator runs: GPUs in single and double precision.
TEST_P(FusedAttention, ByProductsIsTheSame) {
  const Inputs inputs(GetParam());
  const Attended fused = attend(inputs.q, inputs.k, inputs.v, inputs.documents);
  const Attended found =
      attend_by_products(inputs.q, inputs.k, inputs.v, inputs.documents, /*causal=*/true);
  EXPECT_LT(max_difference(found.output, fused.output), 1e-12);
  EXPECT_LT(max_difference(found.log_sum_exp, fused.log_sum_exp), 1e-12);
  EXPECT_TRUE(found.output.transpose(1, 2).is_contiguous());
  const auto expected =
      attend_backward(inputs.gradient, inputs.q, inputs.k, inputs.v, fused, inputs.documents);
  const auto gradients = attend_backward_by_products(inputs.gradient, inputs.q, inputs.k, inputs.v,
                                                     found, inputs.documents);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(max_difference(gradients[i], expected[i]), 1e-12) << "dq, dk, dv: " << i;
}

// Scores of 300 x 300 x 7 / sqrt(7) are no number in fp16; one is 238,118, and those beside it are far from it.
TEST(Attention, ByProductsOfHalfPrecisionHasScoresInSingle) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor far = at::full({1, 1, 5, 7}, 300.0, type);
    const at::Tensor q = random_numbers("q", {1, 2, 5, 7}).to(type).add_(far);
    const at::Tensor k = random_numbers("k", {1, 1, 5, 7}).to(type).add_(far);
    const at::Tensor v = random_numbers("v", {1, 1, 5, 7}).to(type);
    const at::Tensor gradient = random_numbers("gradient", {1, 2, 5, 7}).to(type);
    const auto in_single = [](const at::Tensor& x) { return x.to(at::kFloat); };
    const Attended single =
        attend_by_products(in_single(q), in_single(k), in_single(v), {}, /*causal=*/true);
    const Attended half = attend_by_products(q, k, v, {}, /*causal=*/true);
    EXPECT_EQ(half.output.scalar_type(), type);
    EXPECT_TRUE(half.output.equal(single.output.to(type)));
    EXPECT_TRUE(half.log_sum_exp.equal(single.log_sum_exp));
    const Attended rounded{in_single(half.output), half.log_sum_exp};
    const auto expected = attend_backward_by_products(in_single(gradient), in_single(q),
                                                      in_single(k), in_single(v), rounded, {});
    const auto found = attend_backward_by_products(gradient, q, k, v, half, {});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(found[i].isfinite().all().item<bool>());
      EXPECT_TRUE(found[i].equal(expected[i].to(type))) << "dq, dk, dv: " << i;
    }
  }
}

// One token behind a cache attends to all of it.
TEST(Attention, ByProductsDecodesOneToken) {
  const at::Tensor q = random_numbers("q", {2, 6, 1, 7});
  const at::Tensor k = random_numbers("k", {2, 3, 13, 7});
  const at::Tensor v = random_numbers("v", {2, 3, 13, 7});
  const Attended fused = attend(q, k, v, {}, /*causal=*/false);
  const Attended found = attend_by_products(q, k, v, {}, /*causal=*/false);
  EXPECT_LT(max_difference(found.output, fused.output), 1e-12);
}

TEST(Attention, KnowsTheLogSumExpOfItsScores) {
  const Inputs inputs({"", 2, 2, 2, 19, 7, {19, /**/ 5, 14}});
  const at::Tensor found = attend(inputs.q, inputs.k, inputs.v, inputs.documents).log_sum_exp;
  for (const Documents::Span& span : inputs.documents.spans) {
    const auto part = [&](const at::Tensor& x) {
      return x.select(0, span.row).narrow(1, span.begin, span.length);
    };
    const at::Tensor scores =
        at::matmul(part(inputs.q), part(inputs.k).transpose(1, 2)) / std::sqrt(7.0);
    const at::Tensor hidden = at::ones({span.length, span.length}, at::kBool).triu(1);
    EXPECT_LT(
        max_difference(part(found), scores.masked_fill(hidden, -INFINITY).logsumexp(/*dim=*/{-1})),
        1e-12);
  }
}

}  // namespace
}  // namespace shoal::model

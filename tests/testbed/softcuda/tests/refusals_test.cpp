// What CUDA's kernels refuse and the CPU's would compute.
#include <gtest/gtest.h>
#include <torch/types.h>

namespace {

using torch::Tensor;

Tensor on_gpu(at::IntArrayRef sizes, at::ScalarType type) {
  return torch::randn(sizes).to(type).to(torch::Device("cuda:0"));
}

void attend(at::ScalarType type, int64_t features) {
  const auto q = on_gpu({4, 2, features}, type);
  const auto begins = torch::tensor({0, 4}, torch::device(torch::kCUDA).dtype(torch::kInt));
  at::_flash_attention_forward(q, q, q, begins, begins, 4, 4, 0.0, true, false);
}

TEST(Refusals, FlashAttentionTakesHalvesAndHeadsOfEights) {
  EXPECT_NO_THROW(attend(torch::kHalf, 16));
  EXPECT_NO_THROW(attend(torch::kBFloat16, 256));
  EXPECT_THROW(attend(torch::kFloat, 16), c10::Error);
  EXPECT_THROW(attend(torch::kBFloat16, 12), c10::Error);
  EXPECT_THROW(attend(torch::kBFloat16, 264), c10::Error);
}

TEST(Refusals, ProductsWidenOnlyHalves) {
  const auto half = on_gpu({4, 8}, torch::kBFloat16), wide = on_gpu({4, 8}, torch::kFloat);
  const auto product = at::mm(half, half.t(), torch::kFloat);
  EXPECT_EQ(product.scalar_type(), torch::kFloat);
  const auto exact = half.cpu().to(torch::kFloat);
  EXPECT_TRUE(torch::allclose(product.cpu(), exact.mm(exact.t())));
  EXPECT_THROW(at::mm(wide, wide.t(), torch::kDouble), c10::Error);
  EXPECT_THROW(at::mm(half, half.t(), torch::kHalf), c10::Error);
  const auto batch = half.unsqueeze(0);
  EXPECT_EQ(at::bmm(batch, batch.transpose(1, 2), torch::kFloat).scalar_type(), torch::kFloat);
  EXPECT_THROW(at::bmm(batch, batch.transpose(1, 2), torch::kDouble), c10::Error);
}

TEST(Refusals, GroupedProductsWantAlignedRows) {
  const auto ends = torch::tensor({2, 8}, torch::device(torch::kCUDA).dtype(torch::kInt));
  const auto multiply = [&](at::ScalarType type, int64_t inner, const torch::Tensor& offsets) {
    return at::_grouped_mm(on_gpu({8, inner}, type), on_gpu({2, inner, 16}, type), offsets);
  };
  EXPECT_EQ(multiply(torch::kBFloat16, 8, ends).sizes(), at::IntArrayRef({8, 16}));
  EXPECT_THROW(multiply(torch::kBFloat16, 12, ends), c10::Error);
  EXPECT_THROW(multiply(torch::kDouble, 8, ends), c10::Error);
  EXPECT_THROW(multiply(torch::kBFloat16, 8, ends.to(torch::kLong)), c10::Error);
}

TEST(Refusals, ScaledProductsWantEightBitsAndSixteens) {
  const auto one = torch::ones({}, torch::device(torch::kCUDA));
  const auto multiply = [&](at::ScalarType type, int64_t inner, bool by_columns) {
    const auto a = on_gpu({16, inner}, type);
    const auto b = by_columns ? on_gpu({16, inner}, type).t() : on_gpu({inner, 16}, type);
    return at::_scaled_mm(a, b, one, one, {}, {}, torch::kBFloat16);
  };
  EXPECT_NO_THROW(multiply(torch::kFloat8_e4m3fn, 32, true));
  EXPECT_THROW(multiply(torch::kFloat8_e4m3fn, 24, true), c10::Error);
  EXPECT_THROW(multiply(torch::kFloat8_e4m3fn, 32, false), c10::Error);
  EXPECT_THROW(multiply(torch::kFloat8_e5m2, 32, true), c10::Error);
  EXPECT_THROW(multiply(torch::kBFloat16, 32, true), c10::Error);
}

TEST(Refusals, OperatorWithoutADoubleIsNamed) {
  const auto x = on_gpu({4, 4}, torch::kFloat);
  try {
    at::_masked_scale(x, x, 1);
    FAIL();
  } catch (const c10::NotImplementedError& error) {
    EXPECT_NE(std::string(error.what()).find("softcuda: aten::_masked_scale has no double"),
              std::string::npos);
  }
}

}  // namespace

#include "shoal/optim/spike_guard.h"

#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/random.h"

namespace shoal::optim {
namespace {

constexpr double kDeviations = 6;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Guarded : public ::testing::Test {
 protected:
  bool skips(double loss, double norm) {
    return guard_.judge(at::scalar_tensor(loss, at::kFloat), at::scalar_tensor(norm, at::kFloat))
               .item<float>() == 1;
  }

  // An ordinary step.
  bool skips_noise(uint64_t step) {
    return skips(3.1 + 0.07 * loss_.normal(step), 0.9 + 0.11 * norm_.normal(step));
  }

  // Returns the mean plus so many deviations of the history: row 0 has losses, row 1 norms.
  [[nodiscard]] double above(int64_t row, double deviations) const {
    const at::Tensor values = guard_.history()[row].to(at::kDouble);
    return (values.mean() + values.std(/*unbiased=*/false) * deviations).item<double>();
  }

  SpikeGuard guard_{kDeviations, at::TensorOptions()};
  Random loss_{1, RandomStream::kCheck, "losses"};
  Random norm_{1, RandomStream::kCheck, "norms"};
};

// A normal number is 6 deviations above its mean once in 10^9.
TEST_F(Guarded, OrdinaryNoiseIsNotSkipped) {
  for (uint64_t step = 0; step < 3001; ++step) ASSERT_FALSE(skips_noise(step)) << step;
  EXPECT_EQ(guard_.seen().item<int64_t>(), 3001);
}

TEST_F(Guarded, NothingIsASpikeBeforeThereIsSomethingToCompareWith) {
  for (uint64_t step = 0; step < 127; ++step) ASSERT_FALSE(skips_noise(step));
  EXPECT_FALSE(skips(1e6, 1e6));
}

TEST_F(Guarded, SpikesOfLossOrNormAreSkippedAndSmallerOnesAreNot) {
  for (uint64_t step = 0; step < 128; ++step) ASSERT_FALSE(skips_noise(step));
  EXPECT_TRUE(skips(above(0, 6.01), 0.9));
  EXPECT_TRUE(skips(3.1, above(1, 6.01)));
  EXPECT_FALSE(skips(above(0, 5.99), 0.9));
  EXPECT_FALSE(skips(3.1, above(1, 5.99)));
  EXPECT_FALSE(skips(0, 0)) << "what is far below is no spike";
}

TEST_F(Guarded, WhatIsSkippedLeavesNoTrace) {
  for (uint64_t step = 0; step < 131; ++step) ASSERT_FALSE(skips_noise(step));
  const at::Tensor history = guard_.history().clone();
  EXPECT_TRUE(skips(100, 0.9));
  EXPECT_TRUE(skips(3.1, 100));
  EXPECT_TRUE(skips(kNan, 0.9));
  EXPECT_TRUE(skips(3.1, kInfinity));
  EXPECT_TRUE(skips(-kInfinity, 0.9));
  EXPECT_TRUE(guard_.history().equal(history));
  EXPECT_EQ(guard_.seen().item<int64_t>(), 131);
  // The next step replaces the oldest: the fourth.
  EXPECT_FALSE(skips(3.25, 0.75));
  EXPECT_EQ(guard_.history()[0][3].item<float>(), 3.25F);
  EXPECT_EQ(guard_.history()[1][3].item<float>(), 0.75F);
}

TEST_F(Guarded, WhatIsNotFiniteIsSkippedFromTheFirstStepOn) {
  EXPECT_TRUE(skips(kNan, 1));
  EXPECT_TRUE(skips(1, kNan));
  EXPECT_EQ(guard_.seen().item<int64_t>(), 0);
  EXPECT_EQ(guard_.history().abs().max().item<float>(), 0);
}

TEST(SpikeGuard, WithoutDeviationsSkipsOnlyWhatIsNotFinite) {
  SpikeGuard guard(0, at::TensorOptions());
  const auto judge = [&](double loss) {
    return guard.judge(at::scalar_tensor(loss), at::scalar_tensor(1.0)).item<float>();
  };
  for (int step = 0; step < 200; ++step) ASSERT_EQ(judge(1), 0);
  EXPECT_EQ(judge(1e9), 0);
  EXPECT_EQ(judge(kNan), 1);
  EXPECT_EQ(judge(kInfinity), 1);
}

}  // namespace
}  // namespace shoal::optim

#include "shoal/optim/gradient_scaler.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace shoal::optim {
namespace {

class Scaled : public ::testing::Test {
 protected:
  // Returns the scale after that many steps.
  double after(int steps, bool overflown) {
    for (int i = 0; i < steps; ++i) scaler_.update(at::full({1}, overflown, at::kBool));
    return scaler_.scale().item<double>();
  }

  GradientScaler scaler_{at::TensorOptions()};
};

TEST_F(Scaled, HalvesWithEveryOverflow) {
  EXPECT_EQ(after(1, true), 32768);
  EXPECT_EQ(after(2, true), 8192);
}

TEST_F(Scaled, DoublesAfterTwoThousandFiniteStepsInARow) {
  EXPECT_EQ(after(1999, false), 65536);
  EXPECT_EQ(after(1, true), 32768);
  EXPECT_EQ(after(1999, false), 32768);
  EXPECT_EQ(after(1, false), 65536);
  EXPECT_EQ(after(2000, false), 131072);
}

// Below 1 it would only add to the underflow that it is there against.
TEST_F(Scaled, NeverFallsBelowOne) {
  EXPECT_EQ(after(60, true), 1);
  EXPECT_EQ(after(2000, false), 2);
}

}  // namespace
}  // namespace shoal::optim

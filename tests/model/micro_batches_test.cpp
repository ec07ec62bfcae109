// A step in pieces is the step as a whole.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using namespace tests;

class MicroBatches : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All,
                         MicroBatches,
                         ::testing::Values("gpt2", "llama"),
                         [](const auto& family) { return family.param; });

TEST_P(MicroBatches, OfUnevenSizesGiveTheGradientsOfTheWholeBatch) {
  PlainBuilder builder({});
  const auto decoder = load_decoder(golden_model(GetParam()), at::kDouble, builder);
  const Pass whole = random_pass(*decoder, 5, 23);
  const StepResult expected = step_over(*decoder, {whole});
  EXPECT_GT(largest_gradient(expected), 1e-4);
  const StepResult found =
      step_over(*decoder, {rows_of(*decoder, whole, 0, 3), rows_of(*decoder, whole, 3, 2)});
  EXPECT_LT(max_difference(expected, found), 1e-12);
}

TEST_P(MicroBatches, OfUnevenCountsOfTargetsGiveTheGradientsOfTheWholeBatch) {
  PlainBuilder builder({.head_rows_at_once = 11});
  const auto decoder = load_decoder(golden_model(GetParam()), at::kDouble, builder);
  Pass whole = random_pass(*decoder, 5, 23);
  const at::Tensor counted = random_classes("counted", {5 * 23}, 3).to(at::kBool);
  whole.targets->counted = counted;
  whole.targets->scale = 1 / counted.sum().item<double>();
  std::vector<Pass> parts;
  for (const auto& [first, rows] : {std::pair(0, 1), std::pair(1, 4)}) {
    parts.push_back(rows_of(*decoder, whole, first, rows));
    parts.back().targets->counted = counted.narrow(0, first * 23, rows * 23);
  }
  EXPECT_LT(max_difference(step_over(*decoder, {whole}), step_over(*decoder, parts)), 1e-12);
}

TEST_P(MicroBatches, OfTheNextStepStartFromNothing) {
  PlainBuilder builder({});
  const auto decoder = load_decoder(golden_model(GetParam()), at::kFloat, builder);
  const Pass pass = random_pass(*decoder, 2, 23);
  const StepResult first = step_over(*decoder, {pass});
  EXPECT_EQ(max_difference(first, step_over(*decoder, {pass})), 0);
}

}  // namespace
}  // namespace shoal::model

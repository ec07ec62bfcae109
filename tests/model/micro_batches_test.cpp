// A step with gradient accumulation equals the step as one batch.

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
  const auto loaded = load_model(golden_model(GetParam()), at::kDouble);
  parallel::ParallelModel& model = loaded->model();
  const Pass whole = random_pass(model, 5, 23);
  const StepResult expected = step_over(model, {whole});
  EXPECT_GT(largest_gradient(expected), 1e-4);
  const StepResult found = step_over(model, {rows_of(whole, 0, 3), rows_of(whole, 3, 2)});
  EXPECT_LT(max_difference(expected, found), 1e-12);
}

TEST_P(MicroBatches, OfUnevenCountsOfTargetsGiveTheGradientsOfTheWholeBatch) {
  const auto loaded = load_model(golden_model(GetParam()), at::kDouble);
  parallel::ParallelModel& model = loaded->model();
  Pass whole = random_pass(model, 5, 23);
  const at::Tensor loss_mask = random_classes("loss mask", {5 * 23}, 3).to(at::kBool);
  whole.targets->loss_mask = loss_mask;
  std::vector<Pass> parts;
  for (const auto& [first, rows] : {std::pair(0, 1), std::pair(1, 4)}) {
    parts.push_back(rows_of(whole, first, rows));
    parts.back().targets->loss_mask = loss_mask.narrow(0, first * 23, rows * 23);
  }
  EXPECT_LT(max_difference(step_over(model, {whole}), step_over(model, parts)), 1e-12);
}

TEST_P(MicroBatches, OfTheNextStepStartFromNothing) {
  const auto loaded = load_model(golden_model(GetParam()), at::kFloat);
  parallel::ParallelModel& model = loaded->model();
  const Pass pass = random_pass(model, 2, 23);
  const StepResult first = step_over(model, {pass});
  EXPECT_EQ(max_difference(first, step_over(model, {pass})), 0);
}

}  // namespace
}  // namespace shoal::model

// Documents packed into one row do not attend to each other: logits and gradients are those of each
// alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using namespace tests;

constexpr int64_t kTokens = 23;
constexpr int64_t kSequences = 3;
const std::vector<uint32_t> kLengths = {7, 13, 3, /**/ 23, /**/ 1, 17, 5};

class PackedDocuments : public ::testing::TestWithParam<const char*> {
 protected:
  PackedDocuments()
      : loaded_(load_model(golden_model(GetParam()), at::kDouble)),
        model_(loaded_->model()),
        documents_(Documents::of_lengths(kLengths, kTokens)),
        packed_(random_pass(model_, kSequences, kTokens, documents_)) {}

  // Returns the tokens of one document, with targets when the batch has them.
  [[nodiscard]] Pass alone(const Documents::Span& span) const {
    Pass pass{.tokens = packed_.tokens.narrow(0, span.row, 1).narrow(1, span.begin, span.length)};
    pass.targets = packed_.targets;
    pass.targets->classes =
        packed_.targets->classes.narrow(0, span.row * kTokens + span.begin, span.length);
    return pass;
  }

  std::unique_ptr<OneRank> loaded_;
  parallel::ParallelModel& model_;
  Documents documents_;
  Pass packed_;
};

// Learned positions; rotary with grouped queries; the same with QK norm.
INSTANTIATE_TEST_SUITE_P(All,
                         PackedDocuments,
                         ::testing::Values("gpt2", "llama", "qwen3"),
                         [](const auto& family) { return family.param; });

TEST_P(PackedDocuments, HaveTheScoresTheyHaveAlone) {
  const at::NoGradGuard no_grad;
  Pass packed = packed_;
  packed.targets.reset();
  const at::Tensor together = model_.forward(packed);
  ASSERT_EQ(documents_.spans.size(), kLengths.size());
  for (const Documents::Span& span : documents_.spans) {
    Pass one = alone(span);
    one.targets.reset();
    const at::Tensor theirs = model_.forward(one);
    EXPECT_LT(
        max_difference(together.narrow(0, span.row, 1).narrow(1, span.begin, span.length), theirs),
        1e-12)
        << "row " << span.row << " from " << span.begin;
  }
}

TEST_P(PackedDocuments, HaveTheGradientsTheyHaveAlone) {
  for (const Documents::Span& span : documents_.spans) {
    Pass counted = packed_;
    counted.targets->loss_mask = at::zeros({kSequences * kTokens}, at::kBool);
    counted.targets->loss_mask.narrow(0, span.row * kTokens + span.begin, span.length).fill_(true);
    const StepResult together = step_over(model_, {counted});
    EXPECT_GT(largest_gradient(together), 1e-4);
    EXPECT_LT(max_difference(together, step_over(model_, {alone(span)})), 1e-12)
        << "row " << span.row << " from " << span.begin;
  }
}

TEST_P(PackedDocuments, AddUpToTheGradientsOfTheBatch) {
  std::vector<Pass> each;
  for (const Documents::Span& span : documents_.spans) each.push_back(alone(span));
  EXPECT_LT(max_difference(step_over(model_, {packed_}), step_over(model_, each)), 1e-12);
}

TEST(Documents, OfLengthsThatAreRowsNeedNoSpans) {
  EXPECT_TRUE(Documents::of_lengths({5, 5, 5}, 5).spans.empty());
  EXPECT_FALSE(Documents::of_lengths({5, 2, 3}, 5).spans.empty());
  EXPECT_THROW(Documents::of_lengths({3, 3}, 5), BugError);
}

TEST(Documents, CountPositionsFromTheirOwnBeginning) {
  const at::Tensor positions =
      Documents::of_lengths({2, 3, 1, 4}, 5).positions(2, 5, c10::Device(c10::kCPU));
  EXPECT_TRUE(positions.equal(at::tensor({0, 1, 0, 1, 2, 0, 0, 1, 2, 3}, at::kLong).view({2, 5})));
}

}  // namespace
}  // namespace shoal::model

// The memory of the head's loss against plain operators, counted to the byte.
// bench/head_loss_bench.cpp measures the same at the size of a real model.

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/head_case.h"
#include "tests/support/counting_allocator.h"

namespace shoal::model {
namespace {

using namespace tests;

constexpr int64_t kHeadRows = 509;
constexpr int64_t kHeadClasses = 4099;
constexpr int64_t kHeadWidth = 24;

TEST(CountingAllocator, CountsWhatThereIsAndWhatThereWasAtMost) {
  CountingAllocator& memory = CountingAllocator::installed();
  const int64_t before = memory.current();
  const int64_t peak = memory.peak_of([] {
    const at::Tensor kept = at::empty({101}, at::kFloat);
    { const at::Tensor passing = at::empty({1001}, at::kFloat); }
    const at::Tensor after = at::empty({11}, at::kDouble);
  });
  EXPECT_EQ(peak, 4 * (101 + 1001));
  EXPECT_EQ(memory.current(), before);
  const at::Tensor aligned = at::empty({3}, at::kChar);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned.data_ptr()) % 64, 0U);
  EXPECT_EQ(memory.current(), before + 3);
}

class HeadMemory : public ::testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(All,
                         HeadMemory,
                         ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& one) { return std::string(c10::toString(one.param)); });

TEST_P(HeadMemory, IsAThirdOfThatOfPlainOperatorsAndATenthInPieces) {
  at::set_num_threads(1);  // each thread has a buffer for logits
  CountingAllocator& memory = CountingAllocator::installed();
  HeadCase head(kHeadRows, kHeadClasses, kHeadWidth, GetParam());
  // Plain operators allocate the matrix's gradient, a unit has it already: it is counted with both.
  const auto gradient = static_cast<int64_t>(head.unit.flat_gradient().nbytes());
  const auto ours = [&](int64_t rows_at_once) {
    return memory.peak_of([&] { head.by_one_function(rows_at_once); }) + gradient;
  };
  const auto plain = static_cast<double>(memory.peak_of([&] { (void)head.by_plain_operators(); }));
  const int64_t whole = ours(0);
  const int64_t pieces = ours(29);
  EXPECT_LT(static_cast<double>(whole) / plain, 1.0 / 3);
  EXPECT_LT(static_cast<double>(pieces) / plain, 1.0 / 10);
  EXPECT_EQ(ours(0), whole);
  // The logits exist once, in the model's type.
  const int64_t logits =
      kHeadRows * kHeadClasses * static_cast<int64_t>(c10::elementSize(GetParam()));
  EXPECT_GE(whole, logits);
  EXPECT_LT(whole, 2 * logits);
}

}  // namespace
}  // namespace shoal::model

#include "shoal/state/checkpoint_diff.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/state/write_checkpoint.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Diff : public ::testing::Test {
 protected:
  CheckpointDifference diff_of(const std::vector<PlainTensor>& first,
                               const std::vector<PlainTensor>& second,
                               const DiffOptions& options = {},
                               const Values& first_values = {},
                               const Values& second_values = {}) {
    const Checkpoint a(write_checkpoint(dir_ / "a", 3, first, first_values, random_));
    const Checkpoint b(write_checkpoint(dir_ / "b", 3, second, second_values, random_));
    Progress progress;
    CheckpointDifference found = diff(a, b, options, progress);
    EXPECT_EQ(progress.done, progress.total);
    return found;
  }

  // Tensors "t" of these numbers.
  template <class Number>
  TensorDifference numbers(DType type,
                           const std::vector<Number>& first,
                           const std::vector<Number>& second) {
    const auto tensor = [&](const std::vector<Number>& numbers) {
      PlainTensor made({"t", type, {static_cast<int64_t>(numbers.size())}}, random_);
      std::memcpy(made.bytes.data(), numbers.data(), made.bytes.size());
      return made;
    };
    const CheckpointDifference found = diff_of({tensor(first)}, {tensor(second)});
    return found.tensors.empty() ? TensorDifference{} : found.tensors.front();
  }

  TempDir dir_;
  Random random_{11};
};

TEST_F(Diff, OtherPiecesMakeNoDifference) {
  std::vector<PlainTensor> tensors;
  for (size_t type = 0; type < kDTypes; ++type)
    tensors.push_back({{format("t{:02}", type), static_cast<DType>(type), {7, 13}}, random_});
  tensors.push_back({{"u", DType::kF32, {}}, random_});
  tensors.push_back({{"v", DType::kF32, {3, 0}}, random_});
  for (int round = 0; round < 10; ++round) {
    const CheckpointDifference found = diff_of(tensors, tensors, {.block = 5});
    EXPECT_EQ(found.tensors.size() + found.values.size(), 0U);
    EXPECT_EQ(found.compared, kDTypes + 2);
  }
}

// Tensors of every type: some elements get other bits, wherever they lie among blocks and pieces.
TEST_F(Diff, CountsElementsWhoseBitsDiffer) {
  const Shape shape = {5, 3, 7};
  for (size_t round = 0; round < 5 * kDTypes; ++round) {
    const PlainTensor tensor({"t", static_cast<DType>(round % kDTypes), shape}, random_);
    const uint64_t element = element_bytes(tensor.spec.dtype);
    PlainTensor other = tensor;
    uint64_t changed = 0;
    for (size_t i = 0; i < 105; ++i) {
      if (random_() % 4 != 0) continue;
      other.bytes[i * element + random_() % element] ^= std::byte{1};
      ++changed;
    }
    const CheckpointDifference found = diff_of({tensor}, {other}, {.block = 1 + random_() % 40});
    ASSERT_EQ(found.tensors.size(), changed == 0 ? 0U : 1U);
    if (changed == 0) continue;
    EXPECT_EQ(found.tensors.front().differing, changed) << dtype_name(tensor.spec.dtype);
    EXPECT_EQ(found.tensors.front().elements, 105U);
  }
}

TEST_F(Diff, FindsTheLargestAndWhereItIs) {
  PlainTensor tensor({"t", DType::kF32, {11, 7}}, random_);
  std::vector<float> numbers(77, 1.5F);
  const auto set = [&] { std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size()); };
  set();
  const PlainTensor before = tensor;
  numbers[10] = 1.75F;
  numbers[52] = -2.5F;  // row 7, column 3
  numbers[53] = 5.5F;   // as far, but later
  set();
  for (const uint64_t block : {1U, 4U, 7U, 20U, 77U, 1000U}) {
    const CheckpointDifference found = diff_of({before}, {tensor}, {.block = block});
    ASSERT_EQ(found.tensors.size(), 1U);
    EXPECT_EQ(found.tensors.front().differing, 3U);
    const LargestDifference& largest = *found.tensors.front().largest;
    EXPECT_EQ(largest.by, 4.0);
    EXPECT_THAT(largest.at, ElementsAre(7, 3));
    EXPECT_EQ(largest.first, 1.5);
    EXPECT_EQ(largest.second, -2.5);
  }
}

TEST_F(Diff, OfNumbersThatAreNone) {
  EXPECT_EQ(numbers<double>(DType::kF64, {kNan, 1, kInfinity}, {kNan, 1, kInfinity}).differing, 0U);
  const TensorDifference nan = numbers<double>(DType::kF64, {1, kNan, 9}, {3, 4, kInfinity});
  EXPECT_EQ(nan.differing, 3U);
  EXPECT_TRUE(std::isnan(nan.largest->by));
  EXPECT_THAT(nan.largest->at, ElementsAre(1));
  EXPECT_EQ(nan.largest->second, 4);
  EXPECT_EQ(numbers<double>(DType::kF64, {1, kInfinity}, {3, -kInfinity}).largest->by, kInfinity);
  const TensorDifference zero = numbers<double>(DType::kF64, {0}, {-0.0});
  EXPECT_EQ(zero.differing, 1U);
  EXPECT_EQ(zero.largest->by, 0);
}

TEST_F(Diff, OfEachTypeOfNumber) {
  EXPECT_EQ(numbers<uint16_t>(DType::kBf16, {0x3f80}, {0xbf80}).largest->by, 2);
  EXPECT_EQ(numbers<uint16_t>(DType::kF16, {0x3c00}, {0x0001}).largest->by, 1 - std::ldexp(1, -24));
  EXPECT_EQ(numbers<int64_t>(DType::kI64, {INT64_MAX}, {INT64_MAX - 1}).largest->by, 1);
  EXPECT_EQ(numbers<int64_t>(DType::kI64, {INT64_MAX}, {INT64_MIN}).largest->by, 0x1p64);
  EXPECT_EQ(numbers<uint64_t>(DType::kU64, {UINT64_MAX}, {0}).largest->by, 0x1p64);
  EXPECT_EQ(numbers<int32_t>(DType::kI32, {INT32_MIN}, {INT32_MAX}).largest->by, UINT32_MAX);
  EXPECT_EQ(numbers<uint8_t>(DType::kU8, {255}, {0}).largest->by, 255);
  EXPECT_EQ(numbers<int8_t>(DType::kI8, {-128}, {127}).largest->by, 255);
  EXPECT_FALSE(numbers<uint8_t>(DType::kF8E4M3, {1}, {2}).largest);
  EXPECT_EQ(numbers<uint64_t>(DType::kC64, {1, 2, 3}, {1, 7, 8}).differing, 2U);
}

TEST_F(Diff, OfNamesShapesTypesAndValues) {
  const auto tensor = [&](const std::string& name, DType type, const Shape& shape) {
    return PlainTensor({name, type, shape}, random_);
  };
  const PlainTensor same = tensor("weights.same", DType::kF32, {3});
  const std::vector<PlainTensor> first = {same, tensor("a", DType::kF32, {2}),
                                          tensor("first_moment.x", DType::kF32, {2, 3}),
                                          tensor("weights.y", DType::kF32, {2})};
  const std::vector<PlainTensor> second = {same, tensor("first_moment.x", DType::kF32, {3, 2}),
                                           tensor("weights.y", DType::kF64, {2}),
                                           tensor("z", DType::kF32, {2})};
  const Values values = {{"both", "1"}, {"first", "x"}, {"other", "p"}};
  const Values others = {{"both", "1"}, {"other", "q"}, {"second", ""}};
  const CheckpointDifference found = diff_of(first, second, {}, values, others);
  std::vector<std::string> names;
  for (const TensorDifference& one : found.tensors) names.push_back(one.name());
  EXPECT_THAT(names, ElementsAre("a", "first_moment.x", "weights.y", "z"));
  EXPECT_FALSE(found.tensors[0].second);
  EXPECT_FALSE(found.tensors[3].first);
  EXPECT_EQ(found.tensors[1].second->shape, (Shape{3, 2}));
  EXPECT_EQ(found.tensors[2].second->dtype, DType::kF64);
  EXPECT_EQ(found.tensors[2].differing, 0U);
  EXPECT_EQ(found.compared, 3U);
  ASSERT_EQ(found.values.size(), 3U);
  EXPECT_FALSE(found.values[0].second);
  EXPECT_EQ(found.values[1].second, "q");
  EXPECT_EQ(found.values[2].second, "");

  const CheckpointDifference weights = diff_of(first, second, {.only = "weights."}, values, others);
  ASSERT_EQ(weights.tensors.size(), 1U);
  EXPECT_EQ(weights.tensors.front().name(), "weights.y");
  EXPECT_EQ(weights.compared, 2U);
  EXPECT_TRUE(weights.values.empty());
}

TEST_F(Diff, OfStepsIsOneOfTheValues) {
  Progress progress;
  const Checkpoint a(write_checkpoint(dir_.path(), 7, {}, {}, random_));
  const Checkpoint b(write_checkpoint(dir_.path(), 8, {}, {}, random_));
  const CheckpointDifference found = diff(a, b, {}, progress);
  ASSERT_EQ(found.values.size(), 1U);
  EXPECT_EQ(found.values.front().key, "step");
  EXPECT_EQ(found.values.front().second, "8");
}

TEST_F(Diff, ADamagedFileIsNamed) {
  const PlainTensor tensor({"t", DType::kU8, {999}}, random_);
  const Checkpoint a(write_checkpoint(dir_ / "a", 1, {tensor}, {}, random_));
  const Checkpoint b(write_checkpoint(dir_ / "b", 1, {tensor}, {}, random_));
  const fs::path file = b.path() / b.files().front().name;
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(-1, std::ios::end)
      .put('\x7f')
      .seekp(-2, std::ios::end)
      .put('\x7f');
  Progress progress;
  EXPECT_THAT(error_text<DataError>([&] { (void)diff(a, b, {}, progress); }),
              HasSubstr(file.string() + " is damaged"));
}

}  // namespace
}  // namespace shoal::state

#include "shoal/core/box.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/state/plain_tensor.h"

namespace shoal::state {
namespace {

// How often each element is covered, one by one.
bool covers_each_once(const Shape& shape, const std::vector<Box>& boxes) {
  std::vector<int> times(elements_of(whole_of(shape)), 0);
  for (const Box& box : boxes) {
    const uint64_t count = elements_of(box);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t rest = i;
      uint64_t place = 0;
      uint64_t stride = 1;
      for (size_t dim = shape.size(); dim-- > 0;) {
        const auto extent = static_cast<uint64_t>(box.extent[dim]);
        place += stride * (static_cast<uint64_t>(box.begin[dim]) + rest % extent);
        rest /= extent;
        stride *= static_cast<uint64_t>(shape[dim]);
      }
      ++times[place];
    }
  }
  return std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
}

std::vector<Box> without_empty(std::vector<Box> boxes) {
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(),
                             [](const Box& box) { return elements_of(box) == 0; }),
              boxes.end());
  return boxes;
}

const std::vector<Shape> kShapes = {{}, {1}, {7}, {0}, {3, 5}, {5, 0, 2}, {4, 3, 5}, {2, 3, 2, 3}};

TEST(Tiles, AgreesWithCountingForRandomCutsAndDamagedOnes) {
  Random random(1);
  int whole = 0;
  int damaged = 0;
  for (int round = 0; round < 4000; ++round) {
    const Shape& shape = kShapes[static_cast<size_t>(round) % kShapes.size()];
    std::vector<Box> boxes =
        without_empty(some_cuts(shape, static_cast<int>(random() % 9), random));
    std::shuffle(boxes.begin(), boxes.end(), random);
    EXPECT_TRUE(tiles(shape, boxes));
    ++whole;
    if (boxes.empty()) continue;
    Box& changed = boxes[random() % boxes.size()];
    changed = some_box(shape, random);
    boxes = without_empty(std::move(boxes));
    EXPECT_EQ(tiles(shape, boxes), covers_each_once(shape, boxes));
    damaged += covers_each_once(shape, boxes) ? 0 : 1;
  }
  EXPECT_GT(whole, 1000);
  EXPECT_GT(damaged, 1000);
}

TEST(Tiles, KnowsAPinwheelThatNoCutParts) {
  const std::vector<Box> wheel = {
      {{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}, {{1, 1}, {1, 1}}};
  EXPECT_TRUE(tiles({3, 3}, wheel));
  std::vector<Box> overlapping = wheel;
  overlapping.back() = {{0, 0}, {1, 1}};  // as many elements
  EXPECT_FALSE(tiles({3, 3}, overlapping));
}

TEST(Tiles, IsQuickWithManyBoxes) {
  std::vector<Box> boxes;  // columns first, each cut into other rows
  for (int64_t column = 0; column < 300; ++column) {
    const int64_t cut = column % 400;
    for (int64_t row = 0; row < 700; ++row) {
      if (row == cut) continue;
      const bool is_long = row == (cut == 0 ? 1 : cut - 1);
      boxes.push_back({{is_long && cut == 0 ? 0 : row, column}, {is_long ? 2 : 1, 1}});
    }
  }
  EXPECT_TRUE(tiles({700, 300}, boxes));
  ++boxes.front().begin[0];
  EXPECT_FALSE(tiles({700, 300}, boxes));
}

TEST(Tiles, DoesNotHangOnASpiral) {
  // Each cut parts a single box: as deep as there are boxes.
  std::vector<Box> boxes;
  int64_t top = 0;
  int64_t left = 0;
  int64_t size = 40'000;
  while (size > 0) {
    boxes.push_back({{top, left}, {1, size}});
    if (size > 1) boxes.push_back({{top + 1, left}, {size - 1, 1}});
    ++top;
    ++left;
    --size;
  }
  EXPECT_FALSE(tiles({40'000, 40'000}, boxes));  // refused, though it does
}

TEST(IsInside, ChecksEveryDimension) {
  EXPECT_TRUE(is_inside({{1, 2}, {2, 3}}, {3, 5}));
  EXPECT_TRUE(is_inside({{3, 0}, {0, 5}}, {3, 5}));
  EXPECT_TRUE(is_inside({{}, {}}, {}));
  EXPECT_FALSE(is_inside({{1, 2}, {3, 3}}, {3, 5}));
  EXPECT_FALSE(is_inside({{-1, 2}, {1, 3}}, {3, 5}));
  EXPECT_FALSE(is_inside({{1, 2}, {-1, 3}}, {3, 5}));
  EXPECT_FALSE(is_inside({{4, 0}, {0, 0}}, {3, 5}));
  EXPECT_FALSE(is_inside({{1}, {1}}, {3, 5}));
  EXPECT_FALSE(is_inside({{1, 1}, {INT64_MAX, 1}}, {3, 5}));
}

TEST(ForEachRun, CopiesWhatTwoBoxesShare) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    const Shape& shape = kShapes[static_cast<size_t>(round) % kShapes.size()];
    const PlainTensor tensor({"t", DType::kU8, shape}, random);
    const Box from = some_box(shape, random);
    const Box to = some_box(shape, random);
    const std::vector<std::byte> source = tensor.part(from);
    std::vector<std::byte> expected(elements_of(to), std::byte{0});
    std::vector<std::byte> copied = expected;
    uint64_t last = 0;
    for_each_run(from, to, [&](const ElementRun& run) {
      EXPECT_GE(run.from, last);
      last = run.from + run.count;
      ASSERT_LE(run.from + run.count, source.size());
      ASSERT_LE(run.to + run.count, copied.size());
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(run.from), run.count,
                  copied.begin() + static_cast<std::ptrdiff_t>(run.to));
    });
    const std::optional<Box> both = intersection(from, to);
    if (both) {  // the shared elements as `to` has them, found one by one
      PlainTensor masked = tensor;
      std::fill(masked.bytes.begin(), masked.bytes.end(), std::byte{0});
      const std::vector<std::byte> shared = tensor.part(*both);
      size_t next = 0;
      for (size_t i = 0; i < tensor.bytes.size(); ++i) {
        Shape at(shape.size());
        uint64_t rest = i;
        for (size_t dim = shape.size(); dim-- > 0; rest /= static_cast<uint64_t>(shape[dim]))
          at[dim] = static_cast<int64_t>(rest % static_cast<uint64_t>(shape[dim]));
        if (intersection({at, Shape(shape.size(), 1)}, *both)) masked.bytes[i] = shared[next++];
      }
      expected = masked.part(to);
    }
    EXPECT_EQ(copied, expected);
  }
}

TEST(Blocks, FollowEachOtherAndAreNotTooLarge) {
  Random random(9);
  for (const Shape& shape : kShapes) {
    const PlainTensor tensor({"t", DType::kU16, shape}, random);
    const uint64_t all = elements_of(whole_of(shape));
    for (uint64_t most = 1; most <= all + 1; ++most) {
      std::vector<std::byte> joined;
      size_t blocks = 0;
      for_each_block(shape, most, [&](const Box& block) {
        EXPECT_LE(elements_of(block), most);
        EXPECT_TRUE(is_inside(block, shape));
        const std::vector<std::byte> bytes = tensor.part(block);
        joined.insert(joined.end(), bytes.begin(), bytes.end());
        ++blocks;
      });
      EXPECT_EQ(joined, tensor.bytes) << describe(shape) << " by " << most;
      if (most >= all) {
        EXPECT_EQ(blocks, all == 0 ? 0U : 1U);
      }
    }
  }
}

TEST(Blocks, OfATensorOfAnySizeAreCountedInNumbersThatHoldThem) {
  uint64_t elements = 0;
  size_t blocks = 0;
  for_each_block({int64_t{1} << 24, int64_t{1} << 22}, uint64_t{1} << 42, [&](const Box& block) {
    elements += elements_of(block);
    ++blocks;
  });
  EXPECT_EQ(elements, uint64_t{1} << 46);
  EXPECT_EQ(blocks, 16U);
}

}  // namespace
}  // namespace shoal::state

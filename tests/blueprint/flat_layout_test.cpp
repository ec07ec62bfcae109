#include "shoal/blueprint/flat_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::blueprint {
namespace {

using ::testing::ElementsAre;

const std::vector<WeightSpec> kFirst = {whole_weight("norm", {7}), whole_weight("up", {5, 7}),
                                        whole_weight("bias", {5}), whole_weight("down", {7, 5})};
const std::vector<WeightSpec> kSecond = {whole_weight("head", {3, 23})};

TEST(FlatLayout, PutsMatricesFirstAndAlignsAll) {
  const FlatLayout layout = flat_layout(kFirst);
  EXPECT_THAT(layout.offsets, ElementsAre(128, 0, 160, 64));
  EXPECT_EQ(layout.elements, 192);
}

// Element by element: which weight, and which element of it, lies at each place.
TEST(FlatLayout, PiecesOfAllShardsCoverEveryElementOnce) {
  const FlatLayout first = flat_layout(kFirst);
  const FlatLayout second = flat_layout(kSecond);
  const std::vector<LaidOut> units = {{kFirst, first}, {kSecond, second}};
  const int64_t all = first.elements + second.elements;
  for (const int64_t shard : {int64_t{1}, int64_t{13}, int64_t{37}, int64_t{97}, all}) {
    std::map<std::string, std::vector<int>> times;
    for (int64_t begin = 0; begin < all; begin += shard) {
      int64_t last_end = 0;
      for (const FlatPiece& piece : pieces_within(units, begin, begin + shard)) {
        EXPECT_GE(piece.offset, last_end) << "they come in their order, and do not overlap";
        last_end = piece.offset + piece.count;
        EXPECT_LE(last_end, shard);
        std::vector<int>& of_weight = times[piece.weight->name];
        of_weight.resize(static_cast<size_t>(piece.weight->local_elements()));
        for (int64_t i = 0; i < piece.count; ++i) ++of_weight[static_cast<size_t>(piece.first + i)];
        const bool in_second = piece.weight == kSecond.data();
        const int64_t unit = in_second ? first.elements : 0;
        const FlatLayout& layout = in_second ? second : first;
        const auto index =
            static_cast<size_t>(piece.weight - (in_second ? kSecond.data() : kFirst.data()));
        EXPECT_EQ(begin + piece.offset, unit + layout.offsets[index] + piece.first);
      }
    }
    EXPECT_EQ(times.size(), 5U);
    for (const auto& [name, counts] : times)
      EXPECT_THAT(counts, ::testing::Each(1)) << name << " in shards of " << shard;
  }
}

}  // namespace
}  // namespace shoal::blueprint

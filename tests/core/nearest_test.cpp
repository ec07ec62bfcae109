#include "shoal/core/nearest.h"

#include <string>

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("backend", "bakcend"), 1U) << "a swap of neighbours is one slip";
  EXPECT_EQ(edit_distance("dp_shard", "dp_shrad"), 1U);
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string_view> keys = {"backend", "deadline", "interface"};
  EXPECT_EQ(nearest("bakend", keys), "backend");
  EXPECT_EQ(nearest("dedline", keys), "deadline");
  EXPECT_EQ(nearest("zzz", keys), std::nullopt) << "a wild guess helps nobody";
  EXPECT_EQ(nearest("", keys), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'b'), keys), std::nullopt);
}

}  // namespace
}  // namespace shoal

#include "shoal/config/problem.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::config {
namespace {

using ::testing::HasSubstr;

TEST(Report, AlignsKeysAndShowsTheWayOut) {
  const std::vector<Problem> problems = {
      {"parallel", "a.yaml:3:1", "dp*tp = 1*5 = 5, but there are 8 ranks", "launch 5 ranks"},
      {"parallel.tp", "--set", "5 does not divide 12", "write 4"},
      {"", "", "is a directory", ""},
  };
  EXPECT_EQ(report("a.yaml cannot run on 8 ranks", problems),
            "a.yaml cannot run on 8 ranks (3 problems)\n"
            "  parallel      dp*tp = 1*5 = 5, but there are 8 ranks (a.yaml:3:1)\n"
            "                -> launch 5 ranks\n"
            "  parallel.tp   5 does not divide 12 (--set)\n"
            "                -> write 4\n"
            "  (file)        is a directory");
}

TEST(Report, CutsAFlood) {
  const std::vector<Problem> problems(1000, {.where = "k", .what = "w"});
  const std::string text = report("t", problems);
  EXPECT_THAT(text, HasSubstr("t (1000 problems)"));
  EXPECT_TRUE(text.ends_with("and 950 more"));
}

TEST(Report, ALongKeyDoesNotPushEveryLineAside) {
  const std::vector<Problem> problems = {{.where = std::string(60, 'k'), .what = "w"},
                                         {.where = "a", .what = "b"}};
  EXPECT_THAT(report("t", problems), HasSubstr("\n  a" + std::string(31 + 3, ' ') + "b"));
}

}  // namespace
}  // namespace shoal::config

#include "shoal/core/error.h"

#include <cerrno>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

using ::testing::HasSubstr;

TEST(Format, FormatsEveryKindOfArgument) {
  const std::string owned = "owned";
  EXPECT_EQ(format("{} {} {} {} {} {:.2f} {:>4}|{:#x}", true, -3, 7U, "text", owned, 2.5, 42, 255),
            "true -3 7 text owned 2.50   42|0xff");
  EXPECT_EQ(format("{}", int64_t{1} << 62), "4611686018427387904");
  EXPECT_EQ(format("no arguments"), "no arguments");
}

TEST(Format, AWrongPatternBecomesTextInsteadOfAnException) {
  EXPECT_THAT(format("{} and {}", 1), HasSubstr("{} and {} (wrong pattern: "));
  EXPECT_THAT(format("{:d}", "text"), HasSubstr("wrong pattern"));
}

TEST(Error, EachKindHasItsExitCode) {
  EXPECT_EQ(UsageError("").exit_code(), ExitCode::kUsage);
  EXPECT_EQ(DataError("").exit_code(), ExitCode::kData);
  EXPECT_EQ(PeerLost("").exit_code(), ExitCode::kRequeue);
  EXPECT_EQ(BugError("").exit_code(), ExitCode::kBug);
}

TEST(Error, ExitCodesAreFrozen) {
  EXPECT_EQ(static_cast<int>(ExitCode::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kUsage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kData), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kSkippedSteps), 16);
  EXPECT_EQ(static_cast<int>(ExitCode::kUnequal), 17);
  EXPECT_EQ(static_cast<int>(ExitCode::kBug), 70);
  EXPECT_EQ(static_cast<int>(ExitCode::kRequeue), 75);
  EXPECT_EQ(kSignalExitBase, 128);
}

TEST(Check, NamesConditionValuesAndPlace) {
  const int rank = 9;
  const int size = 8;
  try {
    SHOAL_CHECK(rank < size, "rank {} in a group of {}", rank, size);
    FAIL() << "the check must throw";
  } catch (const BugError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank 9 in a group of 8 [rank < size does not hold at "));
    EXPECT_THAT(e.what(), HasSubstr("error_test.cpp:"));
  }
}

TEST(DescribeErrno, SaysTheReasonAndTheNumber) {
  EXPECT_EQ(describe_errno(ENOSPC), "No space left on device (errno 28)");
}

}  // namespace
}  // namespace shoal

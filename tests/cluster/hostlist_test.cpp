#include "shoal/cluster/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::error_text;

TEST(Hostlist, ExpandsWhatSlurmWrites) {
  EXPECT_THAT(expand_hostlist(""), IsEmpty());
  EXPECT_THAT(expand_hostlist("login"), ElementsAre("login"));
  EXPECT_THAT(expand_hostlist("n[1-3,07],gpu-a"), ElementsAre("n1", "n2", "n3", "n07", "gpu-a"));
  EXPECT_THAT(expand_hostlist("x[08-11]"), ElementsAre("x08", "x09", "x10", "x11"));
  EXPECT_THAT(expand_hostlist("r[1-2]n[0-1]-ib"),
              ElementsAre("r1n0-ib", "r1n1-ib", "r2n0-ib", "r2n1-ib"));
  EXPECT_EQ(expand_hostlist("nid[000001-016384]").size(), 16384U);
}

TEST(Hostlist, RefusesWhatIsNotAList) {
  for (const char* list : {"n[1-3", "n[3-1]", "n[]", "n[a-b]", "a,,b", "n[1-]", "n[-1]"}) {
    EXPECT_THAT(error_text<UsageError>([&] { expand_hostlist(list); }), HasSubstr(list)) << list;
  }
}

TEST(Hostlist, RefusesBombs) {
  EXPECT_THAT(error_text<UsageError>([] { expand_hostlist("n[0-9999999]"); }),
              HasSubstr("million"));
  EXPECT_THAT(error_text<UsageError>([] { expand_hostlist("n[0-9999][0-9999][0-9999]"); }),
              HasSubstr("million"));
  EXPECT_THAT(error_text<UsageError>([] { expand_hostlist("n[0-600000,0-600000]"); }),
              HasSubstr("million"));
  const std::string wide = "n[" + std::string(100'000, '0') + "-9999]";
  EXPECT_THAT(error_text<UsageError>([&] { expand_hostlist(wide); }), HasSubstr("is not a range"));
}

TEST(TasksPerNode, ExpandsRepeats) {
  EXPECT_THAT(expand_tasks_per_node("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(expand_tasks_per_node("8"), ElementsAre(8));
  for (const char* list : {"x", "2(x", "2(x3", "2(xa)", "2(x99999999)"}) {
    EXPECT_THAT(error_text<UsageError>([&] { expand_tasks_per_node(list); }),
                HasSubstr("cannot be read"))
        << list;
  }
}

}  // namespace
}  // namespace shoal::cluster

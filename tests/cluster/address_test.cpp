#include "shoal/cluster/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::cluster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Address, KnowsTheLoopback) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("127.0.1.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("10.127.0.1"));
  EXPECT_TRUE(is_local("127.0.0.1"));
  EXPECT_FALSE(is_local("203.0.113.7")) << "an address reserved for documentation";
}

TEST(Address, ResolvesNumbersAndLocalNames) {
  EXPECT_THAT(resolve("127.0.0.1"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(resolve("localhost"), Contains("127.0.0.1"));
  EXPECT_THAT(resolve("no-such-host.invalid"), IsEmpty());
  EXPECT_THAT(resolve(""), IsEmpty());
}

TEST(Address, FindsTheSideThatReachesAPeer) {
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(address_towards("no-such-host.invalid"), std::nullopt);
}

TEST(Address, InterfacesAreFoundByNameOrAddress) {
  EXPECT_EQ(address_of_interface("lo"), "127.0.0.1");
  EXPECT_EQ(address_of_interface("127.0.0.1"), "127.0.0.1");
  EXPECT_THAT(tests::error_text<UsageError>([] { address_of_interface("ib7"); }),
              ::testing::AllOf(HasSubstr("comm.interface is 'ib7'"),
                               HasSubstr("choose one of lo (127.0.0.1)")));
}

}  // namespace
}  // namespace shoal::cluster

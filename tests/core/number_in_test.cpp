#include "shoal/core/number_in.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(NumberIn, HasAllThatATypeHolds) {
  EXPECT_EQ(number_in<int64_t>("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(number_in<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(number_in<uint64_t>("fFfFfFfFfFfFfFfF", 16), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(number_in<int>("007"), 7);
  EXPECT_EQ(number_in<double>("0x1p3"), std::nullopt);
  EXPECT_EQ(number_in<double>("-2.5e2"), -250);
}

TEST(NumberIn, IsNothingWhenATextIsMoreOrLessThanANumber) {
  for (const char* const text :
       {"", " ", "-", "+1", " 1", "1 ", "1\n", "1.0", "0x1", "ten", "2147483648", "-2147483649"}) {
    EXPECT_EQ(number_in<int>(text), std::nullopt) << '\'' << text << '\'';
  }
  EXPECT_EQ(number_in<int>(std::string("1\0", 2)), std::nullopt);
  EXPECT_EQ(number_in<uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(number_in<uint32_t>("100000000", 16), std::nullopt);
  EXPECT_EQ(number_in<double>("1e999"), std::nullopt);
  EXPECT_EQ(number_in<double>("1.5x"), std::nullopt);
}

}  // namespace
}  // namespace shoal

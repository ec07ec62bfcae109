#include "shoal/core/digest.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, GivesThePublishedValues) {
  Sha256 one;
  one.add("abc");
  EXPECT_EQ(one.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 two;
  two.add("abcdbcdecdefdefgefghfghighij");
  two.add("hijkijkljklmklmnlmnomnopnopq");
  EXPECT_EQ(two.hex(), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, NumbersAreEightBytesTheLowestFirst) {
  Sha256 number;
  number.add_number(0x6362610000000000);
  Sha256 bytes;
  bytes.add(std::string_view("\0\0\0\0\0abc", 8));
  EXPECT_EQ(number.hex(), bytes.hex());
}

}  // namespace
}  // namespace shoal

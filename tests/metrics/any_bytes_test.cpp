#include "shoal/metrics/any_bytes.h"

#include <gtest/gtest.h>

namespace shoal::metrics {
namespace {

TEST(ValidUtf8, KeepsWhatIsValid) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
  EXPECT_EQ(valid_utf8(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
}

TEST(ValidUtf8, ReplacesEachByteThatBelongsToNoCharacter) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("a\xffz"), "a" + mark + "z");
  EXPECT_EQ(valid_utf8("\x80"), mark);
  EXPECT_EQ(valid_utf8("\xc0\xaf"), mark + mark) << "an overlong slash";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), mark + mark + mark + mark) << "behind U+10FFFF";
  EXPECT_EQ(valid_utf8("\xe4\xb8"), mark + mark) << "torn at the end";
  EXPECT_EQ(valid_utf8("\xe4z"), mark + "z");
}

TEST(OneLine, CannotSteerATerminal) {
  EXPECT_EQ(one_line("a\nb\tc\r\x1b[2J\x7f", 100), "a\\nb\\tc\\x0d\\x1b[2J\\x7f");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "2J",
                     100),
            "\\x9b2J")
      << "C1's CSI";
}

TEST(OneLine, EndsInDotsWhereThereWasMore) {
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
  EXPECT_EQ(one_line("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
  EXPECT_EQ(one_line("01234\n6789", 7), "0123...") << "what is escaped stays whole";
}

}  // namespace
}  // namespace shoal::metrics

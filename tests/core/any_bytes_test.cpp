#include "shoal/core/any_bytes.h"

#include <gtest/gtest.h>

namespace shoal {
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
  EXPECT_EQ(one_line("a\nb\tc\r\x1b[2J\x7f"), "a\\nb\\tc\\x0d\\x1b[2J\\x7f");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "2J",
                     100),
            "\\x9b2J")
      << "C1's CSI";
}

TEST(OneLine, KeepsTheDirectionOfItsText) {
  EXPECT_EQ(one_line("a\u202eb\u2066c\u200fd"), "a\\u202eb\\u2066c\\u200fd");
  EXPECT_EQ(one_line("\u05d0\u0628"), "\u05d0\u0628") << "letters may run to the left";
}

TEST(OneLine, FitsWideCharacters) {
  EXPECT_EQ(columns_of("\u4e2d\u6587 a\u00e9 \U0001f600"), 2U + 2U + 1U + 2U + 1U + 2U);
  EXPECT_EQ(columns_of("\u2588\u2502\u05d0"), 3U);
  EXPECT_EQ(one_line("\u4e2d\u4e2d\u4e2d", 6), "\u4e2d\u4e2d\u4e2d");
  EXPECT_EQ(one_line("\u4e2d\u4e2d\u4e2da", 6), "\u4e2d...");
}

TEST(OneLine, EndsInDotsWhereThereWasMore) {
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
  EXPECT_EQ(one_line("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
  EXPECT_EQ(one_line("01234\n6789", 7), "0123...") << "what is escaped stays whole";
}

}  // namespace
}  // namespace shoal

#include "shoal/config/text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::config {
namespace {

using ::testing::HasSubstr;

TEST(FindBadText, TakesUtf8) {
  EXPECT_FALSE(find_bad_text(""));
  EXPECT_FALSE(find_bad_text("plain\ttext\r\n"));
  EXPECT_FALSE(find_bad_text("é € 𝄞 \xF4\x8F\xBF\xBF"));
}

TEST(FindBadText, NamesTheFirstByteThatIsNot) {
  const std::pair<std::string, size_t> cases[] = {
      {std::string("a\0b", 3), 1},
      {"a\x1b[31m", 1},
      {"\x7f", 0},
      {"ab\xff", 2},
      {"\xc3", 0},
      {"\xc0\xaf", 0},
      {"\xe0\x80\xaf", 0},
      {"\xed\xa0\x80", 0},
      {"\xf4\x90\x80\x80", 0},
      {"\xf0\x80\x80\x80", 0},
      {"é\x80", 2},
      {"\xe2\x82", 0},
  };
  for (const auto& [text, offset] : cases) {
    const auto bad = find_bad_text(text);
    ASSERT_TRUE(bad) << shown(text);
    EXPECT_EQ(bad->offset, offset) << shown(text);
  }
  EXPECT_THAT(find_bad_text("\xff\xfe"
                            "a")
                  ->what,
              HasSubstr("UTF-16"));
  EXPECT_THAT(find_bad_text("\xef\xbb\xbf"
                            "a")
                  ->what,
              HasSubstr("byte order mark"));
}

TEST(Shown, IsPrintableWhateverWasGiven) {
  EXPECT_EQ(shown("fe80::1%eth0"), "fe80::1%eth0");
  EXPECT_EQ(shown(""), "\"\"");
  EXPECT_EQ(shown("a b"), "\"a b\"");
  EXPECT_EQ(shown("\x1b[31m"), "\"\\x1b[31m\"");
  EXPECT_EQ(shown("a\"\\"), "\"a\\\"\\\\\"");
  EXPECT_EQ(shown("é"), "\"é\"");
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\"\\xc2\\x9b31m\"")
      << "a C1 control is an escape, too";
  EXPECT_EQ(shown("\xff"), "\"\\xff\"");
}

TEST(Shown, CutsLongText) {
  EXPECT_EQ(shown(std::string(1'000'000, 'x')), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(shown(std::string(59, 'x') + "éé"), "\"" + std::string(59, 'x') + "é...\"");
}

TEST(Wrapped, BreaksAtSpaces) {
  const std::string word(60, 'w');
  EXPECT_EQ(wrapped(word + " " + word, "  "), "  " + word + "\n  " + word + "\n");
  EXPECT_EQ(wrapped("short", ""), "short\n");
  EXPECT_EQ(wrapped(std::string(200, 'x') + " y", ""), std::string(200, 'x') + "\ny\n");
}

}  // namespace
}  // namespace shoal::config

#include "shoal/core/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::json {
namespace {

TEST(InQuotes, EscapesWhatJsonAsksForAndNoMore) {
  EXPECT_EQ(in_quotes(""), "\"\"");
  EXPECT_EQ(in_quotes("model.wte"), "\"model.wte\"");
  EXPECT_EQ(in_quotes("a\"b\\c\b\f\n\r\t\x01\x1f\x7f/é"),
            "\"a\\\"b\\\\c\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/é\"");
  EXPECT_EQ(in_quotes(std::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_THAT(tests::error_text<DataError>([] { (void)in_quotes("\xff\xfe"); }),
              ::testing::HasSubstr("a text of 2 bytes is not UTF-8"));
}

TEST(IsUtf8, KnowsHalfACharacter) {
  EXPECT_TRUE(is_utf8("é東🙂"));
  EXPECT_FALSE(is_utf8("\xc3"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));  // half of a pair
}

}  // namespace
}  // namespace shoal::json

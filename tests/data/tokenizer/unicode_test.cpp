#include "shoal/data/tokenizer/unicode.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::data {
namespace {

using enum CharClass;

Rune rune(std::string_view text) { return read_rune(text.data(), text.data() + text.size()); }

TEST(Unicode, KnowsTheClasses) {
  EXPECT_EQ(class_of('a'), kLower);
  EXPECT_EQ(class_of('Z'), kUpper);
  EXPECT_EQ(class_of(0x01C5), kUpper) << "a title-case letter";
  EXPECT_EQ(class_of(0x4E2D), kCaseless);
  EXPECT_EQ(class_of(0x0301), kMark);
  EXPECT_EQ(class_of(0x00BD), kNumber) << "one half";
  EXPECT_EQ(class_of(0x2163), kNumber) << "a Roman numeral";
  EXPECT_EQ(class_of('_'), kOther);
  EXPECT_EQ(class_of(0x1C89), kUpper) << "new in Unicode 16.0";
  EXPECT_EQ(class_of(0x16EA0), kOther) << "new in Unicode 17.0";
}

TEST(Unicode, HasTwentyFiveSpaces) {
  int spaces = 0;
  for (uint32_t code_point = 0; code_point < 0x110000; ++code_point)
    spaces += class_of(code_point) == kSpace ? 1 : 0;
  EXPECT_EQ(spaces, 25);
  for (const uint32_t not_space : {0x1CU, 0x1FU, 0x200BU, 0x180EU})
    EXPECT_EQ(class_of(not_space), kOther);
}

TEST(Unicode, ReadsEveryLength) {
  EXPECT_EQ(rune("a").bytes, 1);
  EXPECT_EQ(rune("\xC3\xA9").bytes, 2);
  EXPECT_EQ(rune("\xE4\xB8\xAD").bytes, 3);
  EXPECT_EQ(rune("\xF0\x9F\x98\x80").bytes, 4);
  EXPECT_EQ(rune("\xE4\xB8\xAD").kind, kCaseless);
}

TEST(Unicode, TakesInvalidBytesOneByOne) {
  const std::string_view invalid[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFF",
                                      "\xC3",
                                      "\xE4\xB8",
                                      "\xF0\x9F\x98",
                                      "\xC3(",
                                      "\xE4\xB8(",
                                      "\xF0\x9F\x98("};
  for (const std::string_view text : invalid) {
    EXPECT_EQ(rune(text).bytes, 1) << text;
    EXPECT_EQ(rune(text).kind, kOther) << text;
  }
}

TEST(Unicode, KnowsWhatIsCutShort) {
  const auto cut = [](std::string_view text) {
    return is_cut_short(text.data(), text.data() + text.size());
  };
  for (const std::string_view text :
       {"\xC3", "\xE4", "\xE4\xB8", "\xF0", "\xF0\x9F", "\xF0\x9F\x98"})
    EXPECT_TRUE(cut(text));
  for (const std::string_view text :
       {"a", "\xC3\xA9", "\x80", "\xFF", "\xE0\x80", "\xC3(", "\xF0\x9F("})
    EXPECT_FALSE(cut(text));
}

}  // namespace
}  // namespace shoal::data

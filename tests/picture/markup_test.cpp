#include "shoal/picture/markup.h"

#include <gtest/gtest.h>

#include "tests/picture/elements.h"

namespace shoal::picture {
namespace {

TEST(Markup, EscapesTextAndAttributes) {
  Markup markup;
  markup.open("p", {{"title", "\"a\" & 'b'"}}).text("<script>").leaf("b", {}, "1 > 0").close();
  EXPECT_EQ(std::move(markup).finish(),
            "<p title=\"&quot;a&quot; &amp; &#39;b&#39;\">&lt;script&gt;<b>1 &gt; 0</b></p>");
}

TEST(Markup, ReplacesWhatXmlDoesNotAllow) {
  EXPECT_EQ(escaped("a\x01"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(escaped("\xef\xbf\xbf"), "\xef\xbf\xbd");
  EXPECT_EQ(escaped("\xef\xbf\xbe."), "\xef\xbf\xbd.");
  EXPECT_EQ(escaped("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(escaped("\xc3\xa4\n"), "\xc3\xa4\n");
}

TEST(Markup, RefusesWhatIsNotClosed) {
  Markup markup;
  markup.open("p");
  EXPECT_ANY_THROW(static_cast<void>(std::move(markup).finish()));
  EXPECT_ANY_THROW(Markup().close());
  EXPECT_ANY_THROW(Markup().style("</style>"));
}

TEST(Markup, NumbersAreShort) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(12.5), "12.5");
  EXPECT_EQ(number(100), "100");
  EXPECT_EQ(number(3.14159), "3.14");
}

// The reader of these tests has to find faults, or it proves nothing.
TEST(Elements, FindsFaults) {
  for (const char* wrong : {"<a>", "<a></b>", "</a>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>",
                            "<a b=\"<\"/>", "<a b=1/>", "x<a/>"})
    EXPECT_ANY_THROW(tests::elements_of(wrong)) << wrong;
  const auto elements = tests::elements_of("<a b=\"1\">x<c/>y</a>");
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_EQ(elements[0].text, "xy");
  EXPECT_EQ(elements[0]["b"], "1");
}

}  // namespace
}  // namespace shoal::picture

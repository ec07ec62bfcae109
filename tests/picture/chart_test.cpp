#include "shoal/picture/chart.h"

#include <random>

#include <gtest/gtest.h>

#include "shoal/core/format.h"

#include "tests/picture/elements.h"

namespace shoal::picture {
namespace {

using tests::elements_of;
using tests::with_tag;

// What a page 400 pixels wide leaves for a plot: without its padding, labels, values and gaps.
constexpr double kNarrowest = 400 - 2 * 16 - 5.4 * 16 - 4.6 * 16 - 2 * 0.4 * 16;
// The widest digit of common fonts at 11 pixels.
constexpr double kDigit = 7;

struct TextBox {
  double left;
  double right;
};

std::vector<TextBox> label_boxes(const Scale& scale) {
  Markup markup;
  axis(markup, scale);
  std::vector<TextBox> boxes;
  for (const tests::Element& text : with_tag(elements_of(std::move(markup).finish()), "text")) {
    const double x = text.number("x") / 100 * kNarrowest;
    const double width = kDigit * static_cast<double>(text.text.size());
    const std::string anchor = text["text-anchor"];
    const double left = anchor == "start" ? x : anchor == "end" ? x - width : x - width / 2;
    boxes.push_back({left, left + width});
  }
  return boxes;
}

TEST(Chart, LabelsOfAnAxisNeverOverlap) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-5, 16);
  for (int i = 0; i < 500; ++i) {
    const double max = std::pow(10, exponent(random));
    for (const Scale& scale : {scale_of_bytes(max), scale_of_seconds(std::min(max, 1e5)),
                               scale_of_count(std::min(max, 2e6), "operation")}) {
      const std::vector<TextBox> boxes = label_boxes(scale);
      ASSERT_GE(boxes.size(), 2U) << max;
      ASSERT_LE(boxes.size(), 7U) << max;
      for (size_t at = 1; at < boxes.size(); ++at)
        EXPECT_GT(boxes[at].left, boxes[at - 1].right)
            << max << " " << scale.unit_name << " label " << at;
      EXPECT_LE(boxes.back().right, kNarrowest + kDigit * 3);
    }
  }
}

TEST(Chart, SegmentsOfABarAreItsValues) {
  const Scale scale = scale_of_bytes(1000);
  Markup markup;
  bar(markup, {{Ink::kWeights, 300, "a"}, {Ink::kGradients, 0, "b"}, {Ink::kMasters, 450, "c"}},
      scale, 900);
  const auto elements = elements_of(std::move(markup).finish());
  const auto rects = with_tag(elements, "rect");
  ASSERT_EQ(rects.size(), 2U);
  EXPECT_EQ(rects[0].number("x"), 0);
  EXPECT_EQ(rects[0].number("width"), 3000);
  EXPECT_EQ(rects[1].number("x"), 3000);
  EXPECT_EQ(rects[1].number("width"), 4500);
  EXPECT_EQ(rects[1]["class"], "masters");
  ASSERT_EQ(with_tag(elements, "line").size(), 1U);
  EXPECT_EQ(with_tag(elements, "line")[0].number("x1"), 9000);
}

TEST(Chart, EveryInkHasAColourOfItsOwn) {
  const std::string style = ink_style();
  for (int i = 0; i < kNumInks; ++i)
    EXPECT_NE(style.find(format(".{}{{", class_of(static_cast<Ink>(i)))), std::string::npos) << i;
  for (int i = 0; i < plan::kNumSpent; ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_NE(ink_of(static_cast<plan::Spent>(i)), ink_of(static_cast<plan::Spent>(j)));
}

TEST(Chart, SharesAndSecondsAreShort) {
  EXPECT_EQ(format_share(0.6249), "62 %");
  EXPECT_EQ(format_share(0.0912), "9.1 %");
  EXPECT_EQ(format_share(0.09951), "10 %");
  EXPECT_EQ(format_seconds(12.345), "12.35 s");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
}

}  // namespace
}  // namespace shoal::picture

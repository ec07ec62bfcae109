#include "shoal/picture/candidates.h"

#include <gtest/gtest.h>

#include "shoal/picture/neighbours.h"

#include "tests/picture/elements.h"
#include "tests/picture/planned.h"

namespace shoal::picture {
namespace {

std::string drawn(const std::vector<Candidate>& candidates, std::optional<int64_t> capacity) {
  Markup markup;
  markup.open("div");
  draw_candidates(markup, candidates, capacity);
  markup.close();
  return std::move(markup).finish();
}

std::vector<Candidate> made_up() {
  return {{.name = "tp 8", .seconds = 4, .spent = {6, 2}, .memory = 60, .chosen = true},
          {.name = "<tp & 4>", .seconds = 2, .spent = {1, 0, 0, 0, 0, 0, 0, 0, 3}, .memory = 90},
          {.name = "unknown", .memory = 30}};
}

TEST(Candidates, TimesAreDrawnByTheirShares) {
  const auto elements = tests::elements_of(drawn(made_up(), 80));
  const auto rects = tests::with_tag(elements, "rect");
  ASSERT_EQ(rects.size(), 2U + 2U + 3U);
  const double second = 10'000 / (1.04 * 4);
  EXPECT_EQ(rects[0]["class"], "products");
  EXPECT_NEAR(rects[0].number("width"), 3 * second, 0.02);
  EXPECT_EQ(rects[1]["class"], "attention");
  EXPECT_NEAR(rects[1].number("width"), 1 * second, 0.02);
  EXPECT_NEAR(rects[2].number("width"), 0.5 * second, 0.02);
  EXPECT_EQ(rects[3]["class"], "idle");
  EXPECT_NEAR(rects[3].number("width"), 1.5 * second, 0.02);
  const double byte = 10'000 / (1.04 * 90);
  EXPECT_NEAR(rects[4].number("width"), 60 * byte, 0.02);
  EXPECT_NEAR(rects[5].number("width"), 90 * byte, 0.02);
  int limits = 0;
  for (const tests::Element& line : tests::with_tag(elements, "line"))
    limits += line["class"] == "limit" ? 1 : 0;
  EXPECT_EQ(limits, 3);
}

TEST(Candidates, SaysWhatDoesNotFitAndEscapesNames) {
  const std::string text = drawn(made_up(), 80);
  EXPECT_NE(text.find("90 B, does not fit"), std::string::npos);
  EXPECT_EQ(text.find("60 B, does not fit"), std::string::npos);
  EXPECT_NE(text.find("not known"), std::string::npos);
  EXPECT_NE(text.find("&lt;tp &amp; 4&gt;"), std::string::npos);
  EXPECT_NE(text.find("\u25b8\u00a0tp 8"), std::string::npos);
}

TEST(Candidates, WithoutTimesAreMemoryAlone) {
  std::vector<Candidate> candidates = {{.name = "a", .memory = 10}};
  const std::string text = drawn(candidates, std::nullopt);
  EXPECT_EQ(text.find("Time of a step"), std::string::npos);
  EXPECT_EQ(tests::with_tag(tests::elements_of(text), "rect").size(), 1U);
  EXPECT_EQ(drawn({}, 80), "<div></div>");
  candidates[0].memory = -1;
  EXPECT_ANY_THROW(drawn(candidates, 80));
}

TEST(Candidates, NeighboursTradeMemoryForTime) {
  const auto [config, mesh] = tests::planned(2, {"train.recompute=selective"});
  const std::vector<Candidate> found =
      recompute_neighbours(facts_of(config, mesh, tests::slow_cluster()));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_FALSE(found[0].chosen);
  EXPECT_TRUE(found[1].chosen);
  EXPECT_GT(found[0].memory, found[1].memory);
  EXPECT_GT(found[1].memory, found[2].memory);
  EXPECT_LT(found[0].seconds, found[2].seconds);
  EXPECT_EQ(found[2].name, "recompute full");
}

}  // namespace
}  // namespace shoal::picture

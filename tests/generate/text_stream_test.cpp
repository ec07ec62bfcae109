#include "shoal/generate/text_stream.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"

namespace shoal::generate {
namespace {

using ::testing::ElementsAre;

struct Shown {
  std::vector<std::string> pieces;
  std::string text;
  bool stopped = false;
};

Shown show(const std::vector<std::string>& tokens, const std::vector<std::string>& stops = {}) {
  Shown shown;
  TextStream stream(stops, [&](std::string_view piece) { shown.pieces.emplace_back(piece); });
  for (const std::string& token : tokens) {
    shown.stopped = stream.add(token);
    if (shown.stopped) break;
  }
  stream.finish();
  shown.text = stream.text();
  return shown;
}

TEST(TextStream, HoldsBackHalfACharacter) {
  const Shown shown = show({"a\xf0", "\x9f", "\x90", "\x9f", "b"});
  EXPECT_THAT(shown.pieces, ElementsAre("a", "\xf0\x9f\x90\x9f", "b"));
}

TEST(TextStream, ReplacesWhatIsNoCharacterAsPythonDoes) {
  // Expected texts are those of Python's bytes.decode(errors="replace").
  EXPECT_EQ(show({"\xff"
                  "a"})
                .text,
            "\ufffda");
  EXPECT_EQ(show({"\x80\x80"}).text, "\ufffd\ufffd");
  EXPECT_EQ(show({"\xe2\x82"
                  "A"})
                .text,
            "\ufffdA");
  EXPECT_EQ(show({"\xf0\x9f\x90"}).text, "\ufffd") << "the end of the text";
  EXPECT_EQ(show({"\xf0\x9f\x90\xf0\x9f\x90\x9f"}).text, "\ufffd\U0001f41f");
  EXPECT_EQ(show({"\xed\xa0\x80"}).text, "\ufffd\ufffd\ufffd") << "a surrogate";
  EXPECT_EQ(show({"\xc0\xaf"}).text, "\ufffd\ufffd") << "too long a form";
}

TEST(TextStream, FindsAStopTextAcrossTokens) {
  Shown shown = show({"one ", "t", "wo", "\n", "\nthree"}, {"\n\n"});
  EXPECT_TRUE(shown.stopped);
  EXPECT_EQ(shown.text, "one two");
  shown = show({"aa", "ab", "c"}, {"aab"});
  EXPECT_EQ(shown.text, "a") << "the first a is no part of it";
  EXPECT_TRUE(shown.stopped);
  shown = show({"ab", "ab", "x"}, {"abc"});
  EXPECT_FALSE(shown.stopped);
  EXPECT_THAT(shown.pieces, ElementsAre("ab", "abx"));
  EXPECT_EQ(show({"st", "op"}, {"stop"}).text, "");
  EXPECT_EQ(show({"sto"}, {"stop"}).text, "sto") << "what was held back is shown at the end";
  EXPECT_EQ(show({"x\xe2", "stop"}, {"stop"}).text, "x\ufffd");
  EXPECT_EQ(show({"x\xc3", "\xa9y"}, {"\u00e9"}).text, "x") << "a stop text of one character";
}

TEST(TextStream, StopsAtTheTextThatEndsFirst) {
  EXPECT_EQ(show({"xabcd"}, {"abcd", "bc"}).text, "xa");
  EXPECT_EQ(show({"xa", "b", "c", "d"}, {"abcd", "bc"}).text, "xa");
  EXPECT_EQ(show({"xabc"}, {"bc", "abc"}).text, "x") << "of two that end together the longer";
}

// However bytes are cut into tokens, the text is the same, and every piece is whole characters.
TEST(TextStream, DoesNotDependOnHowTheBytesAreCut) {
  const std::vector<std::string> parts = {"a",          "b",    "ab",       "\u00e9",   "\u20ac",
                                          "\U0001f41f", "\xff", "\xe2\x82", "\xf0\x9f", "\n"};
  const std::vector<std::vector<std::string>> stop_sets = {
      {}, {"abab"}, {"\u20aca", "bb\n"}, {"\u00e9\u00e9", "a\u00e9", "\n\n\n"}};
  std::mt19937 random(7);
  size_t stopped = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    const size_t count = random() % 30;
    for (size_t i = 0; i < count; ++i) bytes += parts[random() % parts.size()];
    const auto& stops = stop_sets[static_cast<size_t>(round) % stop_sets.size()];
    const Shown whole = show({bytes}, stops);
    std::vector<std::string> cut;
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = 1 + random() % 5;
      cut.push_back(bytes.substr(at, length));
      at += length;
    }
    const Shown pieces = show(cut, stops);
    ASSERT_EQ(pieces.text, whole.text) << round;
    ASSERT_EQ(pieces.stopped, whole.stopped) << round;
    stopped += whole.stopped ? 1 : 0;
    std::string together;
    for (const std::string& piece : pieces.pieces) {
      ASSERT_TRUE(json::is_utf8(piece)) << round;
      ASSERT_FALSE(piece.empty());
      together += piece;
    }
    ASSERT_EQ(together, whole.text);
    for (const std::string& stop : stops) ASSERT_EQ(whole.text.find(stop), std::string::npos);
  }
  EXPECT_GT(stopped, 300U);
}

TEST(TextStream, RefusesStopTextsThatAreNone) {
  EXPECT_THROW(TextStream({""}, nullptr), UsageError);
  EXPECT_THROW(TextStream({"\xff"}, nullptr), UsageError);
}

}  // namespace
}  // namespace shoal::generate

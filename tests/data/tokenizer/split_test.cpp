#include "shoal/data/tokenizer/split.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::data {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> pieces(Pattern pattern, std::string_view text) {
  std::vector<std::string> found;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = next_piece(pattern, at, end);
    found.emplace_back(at, next);
    at = next;
  }
  return found;
}

std::vector<std::string> gpt2(std::string_view text) { return pieces(Pattern::kGpt2, text); }
std::vector<std::string> cl100k(std::string_view text) { return pieces(Pattern::kCl100k, text); }
std::vector<std::string> o200k(std::string_view text) { return pieces(Pattern::kO200k, text); }

TEST(Gpt2, LeavesTheLastSpaceToTheNextWord) {
  EXPECT_THAT(gpt2("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(gpt2("\n\n\nx"), ElementsAre("\n\n", "\n", "x"));
  EXPECT_THAT(gpt2("a \n\n  b"), ElementsAre("a", " \n\n ", " b"));
  EXPECT_THAT(gpt2("a\u00a0\u00a0b"), ElementsAre("a", "\u00a0", "\u00a0", "b"));
  EXPECT_THAT(gpt2("a  "), ElementsAre("a", "  "));
  EXPECT_THAT(gpt2(" "), ElementsAre(" "));
  EXPECT_THAT(gpt2("  3.14 !?"), ElementsAre(" ", " 3", ".", "14", " !?"));
}

TEST(Gpt2, KnowsSmallContractionsOnly) {
  EXPECT_THAT(gpt2("we'll we'LL"), ElementsAre("we", "'ll", " we", "'", "LL"));
  EXPECT_THAT(gpt2("'tis 'tis"), ElementsAre("'t", "is", " '", "tis"));
  EXPECT_THAT(gpt2("I've\"'s"), ElementsAre("I", "'ve", "\"'", "s"));
  EXPECT_THAT(gpt2("it\u2019s"), ElementsAre("it", "\u2019", "s"));
}

TEST(Gpt2, CutsMarksFromLetters) { EXPECT_THAT(gpt2("e\u0301e"), ElementsAre("e", "\u0301", "e")); }

TEST(Cl100k, TakesOneCharacterBeforeAWord) {
  EXPECT_THAT(cl100k("_x\u200bb"), ElementsAre("_x", "\u200bb"));
  EXPECT_THAT(cl100k("'all"), ElementsAre("'all"));
  EXPECT_THAT(cl100k("a\u00a0\u00a0b"), ElementsAre("a", "\u00a0", "\u00a0b"));
  EXPECT_THAT(cl100k("a\u0301a"), ElementsAre("a", "\u0301a"));
}

TEST(Cl100k, EndsAtLineEnds) {
  EXPECT_THAT(cl100k("\n\n\nx"), ElementsAre("\n\n\n", "x"));
  EXPECT_THAT(cl100k("a \n\n  b"), ElementsAre("a", " \n\n", " ", " b"));
  EXPECT_THAT(cl100k("a;\r\n\r\nb"), ElementsAre("a", ";\r\n\r\n", "b"));
}

TEST(Cl100k, CutsNumbersInThrees) {
  EXPECT_THAT(cl100k("12345 6"), ElementsAre("123", "45", " ", "6"));
  EXPECT_THAT(pieces(Pattern::kCl100kOne, "123"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(pieces(Pattern::kCl100kTwo, "123"), ElementsAre("12", "3"));
}

TEST(Cl100k, KnowsContractionsInAnyCase) {
  EXPECT_THAT(cl100k("we'LL we'\u017f"), ElementsAre("we", "'LL", " we", "'\u017f"));
}

TEST(O200k, CutsBetweenCases) {
  EXPECT_THAT(o200k("camelCaseHTTPServer"), ElementsAre("camel", "Case", "HTTPServer"));
  EXPECT_THAT(o200k("\u4e2dAAAb"), ElementsAre("\u4e2dAAAb"));
  EXPECT_THAT(o200k("\u4e2dAAA"), ElementsAre("\u4e2d", "AAA"));
  EXPECT_THAT(o200k("don't DON'T"), ElementsAre("don't", " DON'T"));
  EXPECT_THAT(o200k("a//b\n/"), ElementsAre("a", "//", "b", "\n", "/"));
  EXPECT_THAT(o200k("e\u0301 x"), ElementsAre("e\u0301", " x"));
}

TEST(Patterns, AreKnownByTheirRegex) {
  EXPECT_EQ(pattern_of_regex(
                R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            Pattern::kGpt2);
  EXPECT_EQ(pattern_of_regex("(a+)+"), std::nullopt);
  EXPECT_EQ(pattern_of_regex(""), std::nullopt);
}

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kParts = {
      "a",      "B",      "z",      "'",      "s",        "LL",     " ",
      "  ",     "\n",     "\r\n",   "\t",     "1",        "23",     ".",
      "_",      "/",      "\u00e9", "\u0301", "\u4e2d",   "\u01c5", "\u00a0",
      "\u3000", "\u2163", "\u017f", "\xC5",   "\xE4\xB8", "\xFF",   "\xF0\x9F\x98\x80",
      "'re",    "\u200b"};
  std::string text;
  const size_t count = random() % 12;
  for (size_t i = 0; i < count; ++i) text += kParts[random() % kParts.size()];
  return text;
}

// What is called settled stays, whatever follows; and the pieces cover the text.
TEST(Patterns, SettledPiecesStayWhateverFollows) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = random_text(random) + random_text(random);
    for (const Pattern pattern : {Pattern::kGpt2, Pattern::kCl100k, Pattern::kO200k}) {
      const std::vector<std::string> whole = pieces(pattern, text);
      const size_t cut = text.empty() ? 0 : random() % text.size();
      const char* end = text.data() + cut;
      const char* at = text.data();
      for (size_t i = 0; at != end; ++i) {
        const Piece piece = next_piece_of_more(pattern, at, end);
        if (!piece.settled) break;
        ASSERT_EQ(std::string(at, piece.end), whole[i]) << text << " cut at " << cut;
        at = piece.end;
      }
    }
  }
}

// Many at once are the same pieces as one by one, wherever a window of the fast way begins or ends.
TEST(Patterns, APlainCutKeepsThePieces) {
  const std::vector<std::string> parts = {"a", "Z",  "9",  " ",      "  ",     "\n",    "\r\n",
                                          ".", "'s", "\t", "\u00a0", "\u0301", "\u3000"};
  std::mt19937 random(17);
  int cuts = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (int part = 0; part < 9; ++part) text += parts[random() % parts.size()];
    for (size_t cut = first_plain_cut(text, 0); cut != std::string::npos;
         cut = first_plain_cut(text, cut + 1)) {
      ++cuts;
      for (const Pattern pattern :
           {Pattern::kGpt2, Pattern::kCl100k, Pattern::kCl100kTwo, Pattern::kCl100kOne,
            Pattern::kO200k, Pattern::kByte, Pattern::kCharacter, Pattern::kWord}) {
        std::vector<std::string> both = pieces(pattern, text.substr(0, cut));
        const std::vector<std::string> behind = pieces(pattern, text.substr(cut));
        both.insert(both.end(), behind.begin(), behind.end());
        ASSERT_EQ(both, pieces(pattern, text)) << text << " at " << cut;
      }
    }
  }
  EXPECT_GT(cuts, 1000);
}

TEST(Patterns, ManyPiecesAtOnceAreTheSame) {
  std::mt19937 random(13);
  for (int round = 0; round < 3'000; ++round) {
    std::string text;
    while (text.size() < 300) {
      text += random_text(random);
      // Mostly plain prose, as it is met: words, contractions, runs of spaces.
      for (int i = 0; i < 6; ++i) {
        static const std::vector<std::string> kWords = {
            "the",   " of", " don't", "'tis", "  in", " I'll",  "we've", ", ", ". ",  "\n",
            " 1234", "'",   "''s",    "x'",   " 's",  "'re're", "\t\t",  "'l", "it's"};
        text += kWords[random() % kWords.size()];
      }
    }
    for (const Pattern pattern : {Pattern::kGpt2, Pattern::kCl100k, Pattern::kO200k}) {
      std::vector<const char*> ends(kFewestPlaces + random() % 100);
      std::vector<std::string> found;
      const char* end = text.data() + text.size();
      for (const char* at = text.data(); at != end;) {
        const size_t count = next_pieces(pattern, at, end, ends);
        ASSERT_GT(count, 0U);
        for (size_t i = 0; i < count; ++i) {
          found.emplace_back(at, ends[i]);
          at = ends[i];
        }
      }
      ASSERT_EQ(found, pieces(pattern, text)) << text;
    }
  }
}

}  // namespace
}  // namespace shoal::data

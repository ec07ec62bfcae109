#include "shoal/data/documents/text_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/documents/string_stream.h"

namespace shoal::data {
namespace {

using ::testing::ElementsAre;

Texts read(std::string_view text, const TextOptions& options) {
  const uint64_t begin = options.slice.begin;
  const uint64_t before = std::min<uint64_t>(begin, bytes_before_slice(options.separator));
  return texts_of(
      *read_text(std::make_unique<StringStream>(text.substr(begin - before), 3), options, "a.txt"));
}

// In two slices, cut at each place of the text.
void expect_documents(std::string_view text, const std::string& separator, const Texts& expected) {
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (const size_t piece_bytes : {1, 4, 100}) {
      TextOptions options{.pattern = Pattern::kGpt2, .separator = separator};
      options.piece_bytes = piece_bytes;
      options.slice = {.begin = 0, .end = cut};
      Texts texts = read(text, options);
      options.slice = {.begin = cut, .end = text.size()};
      for (std::string& more : read(text, options)) texts.push_back(std::move(more));
      EXPECT_EQ(texts, expected) << separator << ", cut at " << cut << ", pieces of "
                                 << piece_bytes;
    }
  }
}

TEST(TextDocuments, StandBetweenSeparators) {
  expect_documents("one, two<|end|>three<|end|><|end|>", "<|end|>", {"one, two", "three"});
  expect_documents("<|end|", "<|end|>", {"<|end|"});
}

TEST(TextDocuments, TakeOverlappingSeparatorsForOne) {
  expect_documents("one\n\ntwo\nlines\n\n\nthree\n\n\n\n\n", "\n\n",
                   {"one", "two\nlines", "three"});
  expect_documents("1abaab", "aba", {"1", "ab"});
  expect_documents("1ababa2abaaba3", "aba", {"1", "2", "3"});
}

TEST(TextDocuments, OfOneTextComeBackWholeFromAnySlices) {
  const std::string text = "0\ns TL it's\nvisible\nend of  12 lines\n\nand\xC3\xA9 \x8Dkl";
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      std::string together;
      for (const Slice& slice :
           {Slice{0, first}, Slice{first, second}, Slice{second, text.size()}}) {
        for (const std::string& piece :
             read(text, {.pattern = Pattern::kGpt2, .slice = slice, .piece_bytes = 5}))
          together += piece;
      }
      EXPECT_EQ(together, text) << "cut at " << first << " and " << second;
    }
  }
}

// A text is assigned to a split by its first piece, so that this must not depend on where reads end.
TEST(TextDocuments, BeginWithAPieceOfFullSize) {
  const std::string first = "a few words " + std::string(67, 'x') + " and some more words";
  const std::string text = first + "<|end|>" + "\n" + first + "<|end|>short";
  for (const std::string separator : {"", "<|end|>"}) {
    for (size_t size = 1; size < 100; ++size) {
      TextOptions options{.pattern = Pattern::kGpt2, .separator = separator};
      options.piece_bytes = size;
      const auto reader = read_text(std::make_unique<StringStream>(text, 5), options, "a.txt");
      for (Document document; reader->next(document);) {
        if (!document.begins || document.ends) continue;
        EXPECT_GE(document.text.size(), size) << "separator '" << separator << "'";
      }
    }
  }
}

// "ends" comes with text, also where every place is one to cut at, up to the end of what was read.
TEST(TextDocuments, OfOneTextEndWithTheirLastPiece) {
  for (const Pattern pattern : {Pattern::kByte, Pattern::kCharacter, Pattern::kGpt2}) {
    for (size_t size = 1; size < 40; ++size) {
      for (const size_t at_once : {1, 2, 3, 7}) {
        std::string text;
        while (text.size() < size) text += text.size() % 5 == 0 ? "." : "\u732B";
        TextOptions options{.pattern = pattern};
        options.piece_bytes = 7;
        const auto reader =
            read_text(std::make_unique<StringStream>(text, at_once), options, "a.txt");
        bool ended = false;
        for (Document document; reader->next(document);) {
          EXPECT_FALSE(ended || document.text.empty());
          ended = document.ends;
        }
        EXPECT_TRUE(ended) << pattern_name(pattern) << ", " << text.size() << " bytes, " << at_once
                           << " at a time";
      }
    }
  }
}

// Without a border that holds for every pattern, the first slice goes on to the end of the text.
TEST(TextDocuments, WithoutBordersComeInPiecesAllTheSame) {
  const std::string word = "\u732B\u306F\u3002";
  for (const Pattern pattern : {Pattern::kByte, Pattern::kGpt2, Pattern::kWord}) {
    std::string text;
    while (text.size() < 1801) text += pattern == Pattern::kWord ? word + "\u3000" : word;
    for (const size_t end : {size_t{1}, size_t{97}, size_t{900}, text.size()}) {
      TextOptions options{.pattern = pattern};
      options.piece_bytes = 31;
      options.slice.end = end;
      const auto reader = read_text(std::make_unique<StringStream>(text, 3), options, "a.txt");
      std::string together;
      for (Document document; reader->next(document); together += document.text)
        EXPECT_LE(document.text.size(), 3 * options.piece_bytes) << pattern_name(pattern);
      EXPECT_EQ(together, text);
    }
  }
}

TEST(TextDocuments, AreCutAtABorderThatFollowsManyPieces) {
  for (size_t size = 1; size < 80; ++size) {  // of what has no border, so that pieces end anywhere
    std::string text;
    while (text.size() < 3 * size) text += "\u3002";
    const size_t border = text.size() + 2;
    text += ".\nsome lines";
    for (const size_t end : {size_t{1}, size, border - 2, border - 1, border}) {
      TextOptions options{.pattern = Pattern::kByte};
      options.piece_bytes = 5;
      options.slice.end = end;
      EXPECT_EQ(read(text, options), Texts{text.substr(0, border)}) << size << ", slice to " << end;
      options.slice = {.begin = end, .end = text.size()};
      EXPECT_EQ(read(text, options), Texts{text.substr(border)}) << size << ", slice from " << end;
    }
  }
}

TEST(TextDocuments, OfOneTextBeginOnceAndEndOnce) {
  const std::string_view text =
      "one line\nand another with some words\nand the last, withoutanyborder";
  for (size_t slices = 1; slices < text.size(); ++slices) {
    std::string marked;
    for (size_t index = 0; index < slices; ++index) {
      TextOptions options{.pattern = Pattern::kGpt2};
      options.piece_bytes = 11;
      options.slice = {.begin = index * text.size() / slices,
                       .end = (index + 1) * text.size() / slices};
      const size_t from = options.slice.begin - std::min<size_t>(options.slice.begin, 2);
      const auto reader =
          read_text(std::make_unique<StringStream>(text.substr(from), 3), options, "a.txt");
      for (Document document; reader->next(document);) {
        if (document.begins) marked += "<";
        marked += document.text;
        if (document.ends) marked += ">";
      }
    }
    EXPECT_EQ(marked, "<" + std::string(text) + ">") << slices << " slices";
  }
}

}  // namespace
}  // namespace shoal::data

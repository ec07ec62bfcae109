#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/bpe_trainer.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/data/tokenizer/readers.h"
#include "shoal/data/tokenizer/writers.h"

#include "tests/support/error_text.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

using CountMap = std::map<std::string, uint64_t>;

CountMap as_map(const PieceCounts& counts) {
  CountMap map;
  for (size_t i = 0; i < counts.size(); ++i) map[std::string(counts.piece(i))] = counts.count(i);
  return map;
}

PieceCounts count(const std::string& text, const CountOptions& options, size_t chunk) {
  size_t at = 0;
  return count_pieces(options, [&] {
    std::string next = text.substr(std::min(at, text.size()), chunk);
    at += chunk;
    return next;
  });
}

std::string random_text(std::mt19937& random, size_t words) {
  static const std::vector<std::string> kWords = {
      "the", " cat", "\n",     "\r\n",   "\n\n",    " ",  "  ", "Sat", " on", ".", ".\n",
      "'s",  "12",   "\u3000", "\u4e2d", "<|end|>", "<|", "|>", "\n1", "x\n", "/", "\xFF"};
  std::string text;
  for (size_t i = 0; i < words; ++i) text += kWords[random() % kWords.size()];
  return text;
}

TEST(PieceCounts, AreTheSameForAnyChunksAndThreads) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, 1 + random() % 200);
    for (const Pattern pattern : {Pattern::kGpt2, Pattern::kCl100k, Pattern::kO200k}) {
      CountOptions options{.pattern = pattern, .separators = {"<|end|>"}};
      const CountMap whole = as_map(count(text, options, text.size() + 1));
      options.threads = 1 + static_cast<int>(random() % 3);
      ASSERT_EQ(as_map(count(text, options, 1 + random() % 64)), whole) << text;
    }
  }
}

TEST(PieceCounts, ErrorsOfTheSourceReachTheCaller) {
  EXPECT_THAT(error_text<DataError>([] {
                count_pieces({.threads = 2},
                             []() -> std::string { throw DataError("disk is gone"); });
              }),
              HasSubstr("disk is gone"));
}

// The rule as it is written: count all pairs again for every merge.
std::vector<std::pair<std::string, std::string>> reference(const CountMap& counts,
                                                           size_t merges,
                                                           TieBreak tie_break) {
  std::map<std::string, size_t> ids;
  std::vector<std::pair<std::string, std::string>> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    const char letter = static_cast<char>(byte);
    bytes.emplace_back(printable_of_bytes({&letter, 1}), std::string(1, letter));
  }
  std::sort(bytes.begin(), bytes.end());
  for (const auto& [printable, letter] : bytes) ids.emplace(letter, ids.size());
  std::vector<std::pair<std::vector<std::string>, uint64_t>> words;
  for (const auto& [piece, times] : counts) {
    std::vector<std::string> word;
    for (const char letter : piece) word.emplace_back(1, letter);
    words.emplace_back(word, times);
  }
  std::vector<std::pair<std::string, std::string>> learned;
  while (learned.size() < merges) {
    std::map<std::pair<std::string, std::string>, uint64_t> pairs;
    for (const auto& [word, times] : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) pairs[{word[i], word[i + 1]}] += times;
    }
    if (pairs.empty()) break;
    const auto better = [&](const auto& a, const auto& b) {
      if (a.second != b.second) return a.second < b.second;
      if (tie_break == TieBreak::kGreaterBytes) return a.first < b.first;
      return std::pair(ids.at(a.first.first), ids.at(a.first.second)) >
             std::pair(ids.at(b.first.first), ids.at(b.first.second));
    };
    const auto best = std::max_element(pairs.begin(), pairs.end(), better)->first;
    learned.push_back(best);
    ids.emplace(best.first + best.second, ids.size());
    for (auto& [word, times] : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] != best.first || word[i + 1] != best.second) continue;
        word[i] += word[i + 1];
        word.erase(word.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
    }
  }
  return learned;
}

TEST(Trainer, FollowsTheRule) {
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round) {
    PieceCounts counts;
    for (size_t i = 0; i < 1 + random() % 30; ++i) {
      std::string piece(1 + random() % 9, 'a');
      for (char& letter : piece) letter = "ab\xE4\n"[random() % 4];
      counts.add(piece, 1 + random() % 4);
    }
    for (const TieBreak tie_break : {TieBreak::kSmallerIds, TieBreak::kGreaterBytes}) {
      const TokenizerParts parts =
          train_bpe(counts, {.vocab_size = 256 + 25, .tie_break = tie_break});
      std::vector<std::pair<std::string, std::string>> learned;
      for (const auto& [left, right] : parts.merges)
        learned.emplace_back(parts.vocabulary.bytes_of(left), parts.vocabulary.bytes_of(right));
      // Two pairs may give the same bytes, which takes no id: compare as many merges as there are.
      ASSERT_EQ(learned, reference(as_map(counts), learned.size(), tie_break));
    }
  }
}

TEST(Trainer, StopsAtRarePairsAndRefusesTooSmallAVocabulary) {
  PieceCounts counts;
  counts.add("abab", 1);
  counts.add("cd", 1);
  EXPECT_EQ(train_bpe(counts, {.vocab_size = 300, .min_count = 2}).merges.size(), 1U);
  EXPECT_THAT(
      error_text<UsageError>([&] { train_bpe(counts, {.vocab_size = 256, .added = {"<|end|>"}}); }),
      HasSubstr("make it 257 or more"));
}

TEST(Writers, WhatIsWrittenReadsBackEqual) {
  std::mt19937 random(29);
  const std::string text = random_text(random, 3000);
  for (const Pattern pattern : {Pattern::kGpt2, Pattern::kCl100k, Pattern::kO200k}) {
    const PieceCounts counts = count(text, {.pattern = pattern, .separators = {"<|end|>"}}, 100);
    const TokenizerParts parts =
        train_bpe(counts, {.vocab_size = 300, .pattern = pattern, .added = {"<|end|>"}});
    const auto trained = std::make_shared<const Tokenizer>(parts);
    const auto read =
        std::make_shared<const Tokenizer>(parts_of_tokenizer_json(to_tokenizer_json(parts)));
    EXPECT_EQ(read->hash(), trained->hash());
    // As ranks: the same pieces, with ids that are one less for the one added token.
    TokenizerParts ranks = parts_of_tiktoken(to_tiktoken(parts));
    ranks.pattern = pattern;
    Encoder by_merges(trained);
    Encoder by_ranks(std::make_shared<const Tokenizer>(ranks));
    std::vector<TokenId> ids;
    std::vector<TokenId> other;
    by_merges.encode(text, ids);
    by_ranks.encode(text, other);
    for (TokenId& id : other) ++id;
    EXPECT_EQ(ids, other);
  }
}

}  // namespace
}  // namespace shoal::data

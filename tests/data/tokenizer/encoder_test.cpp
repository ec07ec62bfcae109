#include "shoal/data/tokenizer/encoder.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/data/tokenizer/small_tokenizer.h"
#include "tests/support/error_text.h"

namespace shoal::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;

std::vector<TokenId> ids_of(Encoder& encoder,
                            std::string_view text,
                            AddedIn added = AddedIn::kAsText) {
  std::vector<TokenId> ids;
  encoder.encode(text, ids, added);
  return ids;
}

TEST(Encoder, EncodesAndDecodes) {
  Encoder encoder(SmallTokenizer().read());
  EXPECT_THAT(ids_of(encoder, "the thing"), ElementsAre(257, ' ', 256, 260));
  EXPECT_THAT(ids_of(encoder, " the the"), ElementsAre(258, 258));
  EXPECT_EQ(encoder.tokenizer().decode(ids_of(encoder, "the thing")), "the thing");
  EXPECT_THAT(
      error_text<DataError>([&] { (void)encoder.tokenizer().decode(std::vector<TokenId>{9999}); }),
      HasSubstr("id 9999 is no token"));
}

TEST(Encoder, TakesAddedTokensOnlyWhenAsked) {
  Encoder encoder(SmallTokenizer().read());
  EXPECT_THAT(ids_of(encoder, "in<|end|>in<|end|><|pad|>", AddedIn::kAsTokens),
              ElementsAre(259, 265, 259, 266));
  EXPECT_EQ(ids_of(encoder, "<|end|>").size(), 7U);
  EXPECT_EQ(encoder.tokenizer().decode(std::vector<TokenId>{266, 265}), "<|end|><|pad|><|end|>");
}

TEST(Encoder, IgnoresMergesWhereTheFileSaysSo) {
  SmallTokenizer small;
  small.vocab_extra = R"(, "king": 270)";  // no merge leads to it
  Encoder by_merges(small.read());
  EXPECT_THAT(ids_of(by_merges, "king"), ElementsAre('k', 260));
  small.model_extra = R"("type": "BPE", "ignore_merges": true,)";
  Encoder by_whole_pieces(small.read());
  EXPECT_THAT(ids_of(by_whole_pieces, "king"), ElementsAre(270));
  EXPECT_NE(by_merges.tokenizer().hash(), by_whole_pieces.tokenizer().hash());
}

std::string random_bytes_text(std::mt19937& random, size_t most) {
  static const std::vector<std::string> kParts = {"the",
                                                  " the",
                                                  "in",
                                                  "ing",
                                                  " ",
                                                  "\n",
                                                  "'s",
                                                  "<|end|>",
                                                  "<|pad|>",
                                                  "<|",
                                                  "\xE4\xB8\xAD",
                                                  "\xE4",
                                                  "\xFF",
                                                  "1",
                                                  "12",
                                                  ".",
                                                  "longerthanfifteenbytes"};
  std::string text;
  while (text.size() < random() % most) {
    text += random() % 4 == 0 ? std::string(1, static_cast<char>(random()))
                              : kParts[random() % kParts.size()];
  }
  return text;
}

TEST(Encoder, AnyBytesComeBack) {
  Encoder encoder(SmallTokenizer().read());
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = random_bytes_text(random, 60);
    ASSERT_EQ(encoder.tokenizer().decode(ids_of(encoder, text)), text);
    ASSERT_EQ(encoder.tokenizer().decode(ids_of(encoder, text, AddedIn::kAsTokens)), text);
  }
}

TEST(StreamEncoder, GivesTheSameIdsWhereverTheTextIsCut) {
  Encoder encoder(SmallTokenizer().read());
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_bytes_text(random, 60);
    for (const AddedIn added : {AddedIn::kAsText, AddedIn::kAsTokens}) {
      const std::vector<TokenId> whole = ids_of(encoder, text, added);
      for (size_t cut = 0; cut <= text.size(); ++cut) {
        StreamEncoder stream(encoder, added);
        std::vector<TokenId> ids;
        stream.add(std::string_view(text).substr(0, cut), ids);
        stream.add(std::string_view(text).substr(cut), ids);
        stream.finish(ids);
        ASSERT_EQ(ids, whole) << text << " cut at " << cut;
      }
      StreamEncoder byte_by_byte(encoder, added);
      std::vector<TokenId> ids;
      for (const char& byte : text) byte_by_byte.add({&byte, 1}, ids);
      byte_by_byte.finish(ids);
      ASSERT_EQ(ids, whole) << text;
    }
  }
}

}  // namespace
}  // namespace shoal::data

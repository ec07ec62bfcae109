#include "shoal/data/tokenizer/encoder.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/unicode.h"

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

TEST(Encoder, PutsNothingAroundATextWhateverTheFileSays) {
  SmallTokenizer small;
  small.post_processor =
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, )"
      R"({"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<|end|>": {"id": "<|end|>", )"
      R"("ids": [265], "tokens": ["<|end|>"]}}})";
  Encoder encoder(small.read());
  EXPECT_THAT(ids_of(encoder, "thing"), ElementsAre(256, 260));
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

std::string utf8_of(uint32_t code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  const unsigned more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  const std::array<unsigned, 4> lead = {0, 0xC0, 0xE0, 0xF0};
  std::string bytes = {static_cast<char>(lead[more] | code_point >> (6 * more))};
  for (unsigned i = more; i-- > 0;)
    bytes += static_cast<char>(0x80U | (code_point >> (6 * i) & 0x3FU));
  return bytes;
}

// Surrogates included, which are no characters: their bytes come back one by one.
TEST(Encoder, EveryCodePointComesBack) {
  Encoder encoder(SmallTokenizer().read());
  for (uint32_t first = 0; first < 0x110000; first += 64) {
    std::string text;
    for (uint32_t i = first; i < first + 64; ++i) {
      const std::string bytes = utf8_of(i);
      const bool surrogate = i >= 0xD800 && i < 0xE000;
      const Rune rune = read_rune(bytes.data(), bytes.data() + bytes.size());
      ASSERT_EQ(rune.bytes, surrogate ? 1 : static_cast<int>(bytes.size())) << i;
      text += bytes + (i % 3 == 0 ? " the" : "");
    }
    ASSERT_EQ(encoder.tokenizer().decode(ids_of(encoder, text)), text) << first;
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

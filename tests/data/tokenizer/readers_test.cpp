#include "shoal/data/tokenizer/readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/data/tokenizer/small_tokenizer.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

std::string refusal(const SmallTokenizer& small) {
  return error_text<DataError>([&] { (void)small.read(); });
}

template <class Change>
std::string refusal_of(Change change) {
  SmallTokenizer small;
  change(small);
  return refusal(small);
}

TEST(TokenizerJson, ReadsBothFormsOfMerges) {
  const auto tokenizer = SmallTokenizer().read();
  EXPECT_EQ(tokenizer->pattern(), Pattern::kGpt2);
  EXPECT_EQ(tokenizer->bpe().merges().size(), 9U);
  EXPECT_EQ(tokenizer->size(), 267U);
  EXPECT_EQ(tokenizer->id_of("<|end|>"), 265U);
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnowByName) {
  using S = SmallTokenizer;
  EXPECT_THAT(refusal_of([](S& s) { s.version = R"("2.0")"; }), HasSubstr("version is 2.0"));
  EXPECT_THAT(refusal_of([](S& s) { s.normalizer = R"({"type": "NFC"})"; }),
              HasSubstr("normalizer is NFC"));
  EXPECT_THAT(refusal_of([](S& s) { s.truncation = R"({"max_length": 3, "stride": 0})"; }),
              HasSubstr("truncation cuts texts"));
  EXPECT_THAT(refusal_of([](S& s) { s.pre_tokenizer = R"({"type": "Metaspace"})"; }),
              HasSubstr("is Metaspace"));
  EXPECT_THAT(refusal_of([](S& s) {
                s.pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": true})";
              }),
              HasSubstr("add_prefix_space is used"));
  EXPECT_THAT(
      refusal_of([](S& s) {
        s.pre_tokenizer =
            R"({"type": "Sequence", "pretokenizers": [)"
            R"({"type": "Split", "pattern": {"Regex": "(a+)+"}, "behavior": "Isolated", "invert": false},)"
            R"({"type": "ByteLevel", "use_regex": false}]})";
      }),
      HasSubstr("a pattern that shoal does not know: (a+)+"));
  EXPECT_THAT(refusal_of([](S& s) { s.decoder = R"({"type": "WordPiece"})"; }),
              HasSubstr("decoder is WordPiece"));
  EXPECT_THAT(refusal_of([](S& s) { s.model_extra = R"("type": "Unigram",)"; }),
              HasSubstr("model is Unigram"));
  EXPECT_THAT(refusal_of([](S& s) { s.model_extra = R"("dropout": 0.1,)"; }),
              HasSubstr("dropout is used"));
  EXPECT_THAT(refusal_of([](S& s) { s.model_extra = R"("byte_fallback": true,)"; }),
              HasSubstr("byte_fallback is used"));
  EXPECT_THAT(refusal_of([](S& s) { s.added = R"([{"id": 1, "content": "x", "lstrip": true}])"; }),
              HasSubstr("lstrip is used"));
}

TEST(TokenizerJson, RefusesDamage) {
  using S = SmallTokenizer;
  EXPECT_THAT(error_text<DataError>([] { parts_of_tokenizer_json("{"); }), HasSubstr("no JSON"));
  EXPECT_THAT(error_text<DataError>([] { parts_of_tokenizer_json(""); }), HasSubstr("no JSON"));
  EXPECT_THAT(error_text<DataError>([] { parts_of_tokenizer_json("[]"); }),
              HasSubstr("not an object"));
  EXPECT_THAT(error_text<DataError>([] { parts_of_tokenizer_json(std::string(1000, '[')); }),
              HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of([](S& s) { s.version = R"("1.0", "version": "1.0")"; }),
              HasSubstr("'version' twice"));
  EXPECT_THAT(refusal_of([](S& s) { s.vocab_extra = R"(, "th": 280)"; }),
              HasSubstr("belong to token 256 already"));
  EXPECT_THAT(refusal_of([](S& s) { s.vocab_extra = R"(, "zz": 256)"; }),
              HasSubstr("id 256 has two tokens"));
  EXPECT_THAT(refusal_of([](S& s) { s.vocab_extra = R"(, "zz": -1)"; }),
              HasSubstr("is not a number below"));
  EXPECT_THAT(refusal_of([](S& s) { s.vocab_extra = R"(, "zz": 8000000)"; }),
              HasSubstr("there are only 266 tokens"));
  EXPECT_THAT(refusal_of([](S& s) { s.vocab_extra = R"(, "a b": 280)"; }),
              HasSubstr("byte alphabet"));
  EXPECT_THAT(
      refusal_of([](S& s) { s.vocab_extra = format(R"(, "{}": 280)", std::string(2000, 'x')); }),
      HasSubstr("has 2000 bytes"));
  EXPECT_THAT(refusal_of([](S& s) { s.merges = R"(["t h", "t h"])"; }), HasSubstr("merged twice"));
  EXPECT_THAT(refusal_of([](S& s) { s.merges = R"(["q q"])"; }), HasSubstr("gives no token"));
  EXPECT_THAT(refusal_of([](S& s) { s.merges = R"(["nosuch x"])"; }),
              HasSubstr("which is no token"));
  EXPECT_THAT(refusal_of([](S& s) { s.merges = R"(["a b c"])"; }), HasSubstr("not two tokens"));
  EXPECT_THAT(refusal_of([](S& s) { s.merges = R"([["a"]])"; }), HasSubstr("not two tokens"));
  EXPECT_THAT(refusal_of([](S& s) { s.merges = R"({"a": 1})"; }),
              HasSubstr("merges is not a list"));
  EXPECT_THAT(refusal_of([](S& s) { s.added = R"([{"id": 5, "content": ""}])"; }),
              HasSubstr("must have 1 to"));
  EXPECT_THAT(refusal_of([](S& s) { s.added = R"([{"id": 5, "content": "<x>"}])"; }),
              HasSubstr("id 5 of another token"));
  EXPECT_THAT(refusal_of([](S& s) {
                s.added = R"([{"id": 300, "content": "x"}, {"id": 300, "content": "y"}])";
              }),
              HasSubstr("two added tokens have the id 300"));
}

TEST(Tiktoken, ReadsRanksAndRefusesDamage) {
  const TokenizerParts parts = parts_of_tiktoken("IQ== 0\nIg== 1\r\nISI= 2\n");
  EXPECT_EQ(parts.vocabulary.find("!\""), 2U);
  EXPECT_TRUE(parts.ranks_are_ids);
  EXPECT_TRUE(parts.ignore_merges);
  EXPECT_THAT(error_text<DataError>([] { parts_of_tiktoken("IQ==\n"); }),
              HasSubstr("line 1 is not"));
  EXPECT_THAT(error_text<DataError>([] { parts_of_tiktoken("IQ== 0\n!! 1\n"); }),
              HasSubstr("line 2 does not begin"));
  EXPECT_THAT(error_text<DataError>([] { parts_of_tiktoken("IQ== x\n"); }),
              HasSubstr("does not end with a rank"));
  EXPECT_THAT(error_text<DataError>([] { parts_of_tiktoken("IQ== 99999999\n"); }),
              HasSubstr("beyond the limit"));
  EXPECT_THAT(error_text<DataError>([] { Tokenizer(parts_of_tiktoken("IQ== 0\n")); }),
              HasSubstr("has no token"));
}

TEST(Tiktoken, AsksForThePatternWhereTheNameDoesNotTell) {
  const tests::TempDir dir;
  const std::string path = (dir / "mine.tiktoken").string();
  write_file_atomically(path, "IQ== 0\n");
  EXPECT_THAT(error_text<UsageError>([&] { read_tokenizer(path); }), HasSubstr("--pattern"));
}

TEST(Printable, CoversAllBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const char letter = static_cast<char>(byte);
    EXPECT_EQ(bytes_of_printable(printable_of_bytes({&letter, 1})), std::string(1, letter));
  }
  EXPECT_EQ(printable_of_bytes(" the\n"), "\u0120the\u010a");
  for (const char* text : {"\u4e2d", " ", "\xC4", "\u00ad"})
    EXPECT_THROW(bytes_of_printable(text), DataError) << text;
}

}  // namespace
}  // namespace shoal::data

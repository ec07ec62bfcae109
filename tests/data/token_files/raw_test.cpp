#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/token_files/written.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr TokenId kDocumentMark = 9;

Documents nano_gpt(const std::vector<uint16_t>& ids, std::optional<DocumentMark> mark, size_t max) {
  const std::string bytes = packed(ids);
  const auto reader = read_nano_gpt({"x.bin", bytes}, {.vocab_size = 10, .mark = mark});
  EXPECT_EQ(reader->tokens(), ids.size());
  return documents_of(*reader, max);
}

TEST(NanoGptFile, WithoutAMarkIsOneDocument) {
  for (const size_t max : {1, 2, 4, 5, 100}) {
    EXPECT_EQ(nano_gpt({1, 2, 9, 4, 5}, std::nullopt, max), (Documents{{1, 2, 9, 4, 5}})) << max;
  }
  EXPECT_EQ(nano_gpt({}, std::nullopt, 5), Documents{});
}

struct MarkCase {
  std::vector<uint16_t> ids;
  Documents mark_last;
  Documents mark_first;
};

TEST(NanoGptFile, AMarkIsTheLastOrTheFirstOfItsDocument) {
  const std::vector<MarkCase> cases = {
      {{}, {}, {}},
      {{1, 2}, {{1, 2}}, {{1, 2}}},
      {{9}, {{9}}, {{9}}},
      {{9, 9}, {{9}, {9}}, {{9}, {9}}},
      {{1, 2, 9}, {{1, 2, 9}}, {{1, 2}, {9}}},
      {{9, 1, 2}, {{9}, {1, 2}}, {{9, 1, 2}}},
      {{9, 1, 9, 2, 3}, {{9}, {1, 9}, {2, 3}}, {{9, 1}, {9, 2, 3}}},
      {{1, 9, 9, 2, 3, 4, 9}, {{1, 9}, {9}, {2, 3, 4, 9}}, {{1}, {9}, {9, 2, 3, 4}, {9}}},
  };
  for (const MarkCase& c : cases) {
    for (const size_t max : {1, 2, 3, 4, 100}) {
      EXPECT_EQ(nano_gpt(c.ids, DocumentMark{kDocumentMark, MarkPlace::kLast}, max), c.mark_last)
          << packed(c.ids).size() << " bytes in parts of " << max;
      EXPECT_EQ(nano_gpt(c.ids, DocumentMark{kDocumentMark, MarkPlace::kFirst}, max), c.mark_first)
          << packed(c.ids).size() << " bytes in parts of " << max;
    }
  }
}

TEST(NanoGptFile, APartSaysWhetherTheDocumentGoesOn) {
  const std::string bytes = packed<uint16_t>({1, 9, 2, 3, 4});
  const auto reader =
      read_nano_gpt({"x.bin", bytes}, {.vocab_size = 10, .mark = DocumentMark{kDocumentMark}});
  std::vector<TokenId> ids = {7};
  EXPECT_EQ(reader->next(2, ids), TokenFile::Status::kDocumentEnds);
  EXPECT_EQ(ids, (std::vector<TokenId>{7, 1, 9})) << "what was there stays";
  EXPECT_EQ(reader->next(2, ids), TokenFile::Status::kMore);
  EXPECT_EQ(reader->next(1, ids), TokenFile::Status::kDocumentEnds);
  EXPECT_EQ(ids, (std::vector<TokenId>{7, 1, 9, 2, 3, 4}));
  EXPECT_EQ(reader->next(1, ids), TokenFile::Status::kEnd);
  EXPECT_EQ(reader->next(1, ids), TokenFile::Status::kEnd);
}

TEST(NanoGptFile, RefusesHalfIdsAndIdsOfOtherVocabularies) {
  const auto nano_gpt_refusal = [](const std::string& bytes) {
    return refusal([&] { return read_nano_gpt({"x.bin", bytes}, {.vocab_size = 50257}); });
  };
  EXPECT_THAT(nano_gpt_refusal("abc"), AllOf(HasSubstr("x.bin has 3 bytes"), HasSubstr("2 bytes")));
  std::vector<uint16_t> ids(100, 50256);
  ids[17] = 61234;
  ids[18] = 65535;
  EXPECT_THAT(nano_gpt_refusal(packed(ids)),
              HasSubstr("id 61234 at token 17 of x.bin is not below the vocabulary's 50257"));
  ids[17] = 50257;
  EXPECT_THAT(nano_gpt_refusal(packed(ids)), HasSubstr("id 50257 at token 17"));
}

// As uint32, which nothing in the file tells: 100000, 5, 70000 and 9 would be 34464, 1, 5, 0 and so on.
TEST(NanoGptFile, RefusesVocabulariesThatNeedWiderIds) {
  const std::string bytes = packed<uint32_t>({100'000, 5, 70'000, 9});
  EXPECT_THAT(refusal([&] {
                return read_nano_gpt({"x.bin", bytes}, {.vocab_size = 100'277});
              }),
              AllOf(HasSubstr("x.bin has no header"), HasSubstr("vocabulary has 100277")));
  EXPECT_THAT(refusal([] {
                return read_nano_gpt({"x.bin", ""}, {.vocab_size = 65'537});
              }),
              HasSubstr("vocabulary has 65537"));
  const auto widest = read_nano_gpt({"x.bin", "\xFF\xFF"}, {.vocab_size = 65'536});
  EXPECT_EQ(documents_of(*widest, 5), (Documents{{65'535}}));
}

TEST(NanoGptFile, AMarkMustBeAnId) {
  EXPECT_THAT(tests::error_text<UsageError>([] {
                (void)read_nano_gpt({"x.bin", ""}, {.vocab_size = 10, .mark = DocumentMark{10}});
              }),
              HasSubstr("is 10, which is not below the vocabulary's 10"));
}

template <class Number>
void expect_olmo(uint32_t vocab_size, std::optional<unsigned> bytes_per_id) {
  const std::vector<Number> ids = {1, 2, 0, 3, 0};
  const std::string bytes = "?" + packed(ids);  // at an odd address
  const auto reader =
      read_olmo({"x.npy", std::string_view(bytes).substr(1)},
                {.vocab_size = vocab_size, .mark = DocumentMark{0}, .bytes_per_id = bytes_per_id});
  EXPECT_EQ(reader->tokens(), 5U) << vocab_size;
  EXPECT_EQ(documents_of(*reader, 2), (Documents{{1, 2, 0}, {3, 0}})) << vocab_size;
}

TEST(OlmoFile, HasIdsAsWideAsTheVocabularyNeeds) {
  expect_olmo<uint8_t>(256, std::nullopt);
  expect_olmo<uint16_t>(257, std::nullopt);
  expect_olmo<uint16_t>(65536, std::nullopt);
  expect_olmo<uint32_t>(65537, std::nullopt);
  expect_olmo<uint32_t>(4294967295, std::nullopt);
}

TEST(OlmoFile, HasIdsAsWideAsTheOptionsSay) {
  expect_olmo<uint8_t>(100'000, 1);
  expect_olmo<uint16_t>(10, 2);
  expect_olmo<uint32_t>(10, 4);
  expect_olmo<uint64_t>(10, 8);
  EXPECT_THAT(tests::error_text<UsageError>([] { expect_olmo<uint8_t>(10, 3); }),
              HasSubstr("ids of 3 bytes"));
}

TEST(OlmoFile, RefusesIdsThatAreOnlyRightInTheirLowHalf) {
  const auto olmo_refusal = [](uint64_t id) {
    const std::string bytes = packed<uint64_t>({1, id});
    return refusal([&] {
      return read_olmo({"x.npy", bytes}, {.vocab_size = 10, .bytes_per_id = 8});
    });
  };
  EXPECT_THAT(olmo_refusal((uint64_t{1} << 32) + 1),
              HasSubstr("id 4294967297 at token 1 of x.npy"));
  EXPECT_THAT(olmo_refusal((uint64_t{1} << 63) + 1),
              HasSubstr("id 9223372036854775809 at token 1"));
}

TEST(OlmoFile, ExplainsNumpysHeader) {
  const std::string bytes = std::string("\x93NUMPY\x01\0v\0{'descr'", 18) + std::string(200, ' ');
  EXPECT_THAT(refusal([&] {
                return read_olmo({"x.npy", bytes}, {.vocab_size = 50257});
              }),
              AllOf(HasSubstr("x.npy begins with numpy's header"), HasSubstr("tofile")));
}

}  // namespace
}  // namespace shoal::data

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/token_files/written.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr DocumentMark kGpt2Mark{50256, MarkPlace::kFirst};
constexpr DocumentMark kLlamaMark{128000, MarkPlace::kFirst};

TEST(LlmCFile, ReadsGpt2Files) {
  const std::string bytes =
      LlmCFile{.tokens = 5, .ids = packed<uint16_t>({7, 50256, 1, 2, 50256})}.bytes();
  const auto reader = read_llm_c({"x.bin", bytes}, {.vocab_size = 50257, .mark = kGpt2Mark});
  EXPECT_EQ(reader->tokens(), 5U);
  EXPECT_EQ(documents_of(*reader, 2), (Documents{{7}, {50256, 1, 2}, {50256}}));
}

TEST(LlmCFile, ReadsLlama3Files) {
  const std::string bytes = LlmCFile{.magic = 20240801,
                                     .version = 7,
                                     .tokens = 3,
                                     .ids = packed<uint32_t>({128000, 1, 128255})}
                                .bytes();
  const auto reader = read_llm_c({"x.bin", bytes}, {.vocab_size = 128256, .mark = kLlamaMark});
  EXPECT_EQ(reader->tokens(), 3U);
  EXPECT_EQ(documents_of(*reader, 100), (Documents{{128000, 1, 128255}}));
}

TEST(LlmCFile, MayBeEmpty) {
  const std::string bytes = LlmCFile{}.bytes();
  const auto reader = read_llm_c({"x.bin", bytes}, {.vocab_size = 50257});
  EXPECT_EQ(reader->tokens(), 0U);
  EXPECT_EQ(documents_of(*reader, 1), Documents{});
}

std::string llm_c_refusal(const std::string& bytes) {
  return refusal([&] { return read_llm_c({"x.bin", bytes}, {.vocab_size = 50257}); });
}

TEST(LlmCFile, RefusesEveryTruncation) {
  const std::string whole = LlmCFile{.tokens = 3, .ids = packed<uint16_t>({1, 2, 3})}.bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(llm_c_refusal(whole.substr(0, size)),
                AllOf(HasSubstr("x.bin"), HasSubstr("cut off")))
        << size << " bytes";
  }
  EXPECT_THAT(llm_c_refusal(whole + "x"), HasSubstr("but 7 bytes follow the header"));
}

TEST(LlmCFile, RefusesWrongHeaders) {
  struct Case {
    LlmCFile file;
    const char* message;
  };
  const std::string two = packed<uint16_t>({1, 2});
  const std::vector<Case> cases = {
      {{.magic = 20240521, .tokens = 2, .ids = two}, "x.bin begins with 20240521"},
      {{.magic = 20240522, .tokens = 2, .ids = two}, "x.bin is one of llm.c's evaluation files"},
      {{.version = 2, .tokens = 2, .ids = two}, "x.bin has version 2"},
      {{.magic = 20240801, .version = 1, .tokens = 1, .ids = two}, "x.bin has version 1"},
      {{.magic = 20240801, .version = 7, .tokens = 2, .ids = two}, "which are 8 bytes, but 4"},
      {{.tokens = 1, .ids = two}, "x.bin claims to have 1 ids"},
      {{.tokens = -2, .ids = two}, "x.bin claims to have -2 ids"},
      {{.tokens = 2147483647, .ids = two}, "which are 4294967294 bytes, but 4"},
      {{.magic = 20240801, .version = 7, .tokens = 1073741825, .ids = packed<uint32_t>(1)},
       "which are 4294967300 bytes, but 4"},
      {{.tokens = 2, .ids = packed<uint16_t>({1, 50257})}, "id 50257 at token 1 of x.bin"},
  };
  for (const Case& c : cases) EXPECT_THAT(llm_c_refusal(c.file.bytes()), HasSubstr(c.message));
}

}  // namespace
}  // namespace shoal::data

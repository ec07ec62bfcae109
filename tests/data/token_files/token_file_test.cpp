#include "shoal/data/token_files/token_file.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/files.h"

#include "tests/data/token_files/written.h"
#include "tests/support/temp_dir.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

// One file of each format, with the same two documents.
class TokenFileTest : public ::testing::Test {
 protected:
  TokenFileTest() {
    const std::string ids = packed<uint16_t>({1, 2, 0, 3, 0});
    write_file_atomically(dir_ / "nano.bin", ids);
    write_file_atomically(dir_ / "llm_c.bin", LlmCFile{.tokens = 5, .ids = ids}.bytes());
    write_file_atomically(dir_ / "megatron.bin", ids);
    write_file_atomically(
        dir_ / "megatron.idx",
        MegatronIndex{.lengths = {3, 2}, .offsets = {0, 6}, .borders = {0, 1, 2}}.bytes());
    write_file_atomically(dir_ / "olmo.npy", ids);
  }

  TempDir dir_;
};

TEST_F(TokenFileTest, FindsTheFormatAndReadsTheDocuments) {
  const std::vector<std::pair<const char*, TokenFormat>> cases = {
      {"nano.bin", TokenFormat::kNanoGpt},      {"llm_c.bin", TokenFormat::kLlmC},
      {"megatron.bin", TokenFormat::kMegatron}, {"megatron.idx", TokenFormat::kMegatron},
      {"olmo.npy", TokenFormat::kOlmo},
  };
  for (const auto& [name, format] : cases) {
    EXPECT_EQ(token_format_of(dir_ / name), format) << name;
    TokenFile file(dir_ / name, {.format = format, .vocab_size = 1000, .mark = DocumentMark{0}});
    EXPECT_EQ(file.tokens(), 5U) << name;
    TokenFile moved(std::move(file));
    EXPECT_EQ(documents_of(moved, 2), (Documents{{1, 2, 0}, {3, 0}})) << name;
  }
}

TEST_F(TokenFileTest, FindsTheFormatOfStrangeFiles) {
  write_file_atomically(dir_ / "empty.bin", "");
  EXPECT_EQ(token_format_of(dir_ / "empty.bin"), TokenFormat::kNanoGpt);
  write_file_atomically(dir_ / "eval.bin", LlmCFile{.magic = 20240522}.bytes());
  EXPECT_EQ(token_format_of(dir_ / "eval.bin"), TokenFormat::kLlmC);
  write_file_atomically(dir_ / "llama.bin", LlmCFile{.magic = 20240801}.bytes());
  EXPECT_EQ(token_format_of(dir_ / "llama.bin"), TokenFormat::kLlmC);
  EXPECT_EQ(token_format_of(dir_ / "some.txt"), std::nullopt);
  EXPECT_EQ(token_format_of(dir_ / "bin"), std::nullopt);
  EXPECT_THAT(error_text<DataError>([&] { (void)token_format_of(dir_ / "none.bin"); }),
              HasSubstr("none.bin: No such file"));
}

TEST_F(TokenFileTest, ErrorsNameTheFile) {
  const auto refusal_of = [&](const char* name, TokenFormat format) {
    return error_text<DataError>(
        [&] { const TokenFile file(dir_ / name, {.format = format, .vocab_size = 1000}); });
  };
  EXPECT_THAT(refusal_of("none.bin", TokenFormat::kNanoGpt), HasSubstr("none.bin: No such file"));
  EXPECT_THAT(refusal_of("nano.bin", TokenFormat::kMegatron), HasSubstr("nano.idx: No such file"));
  EXPECT_THAT(refusal_of("nano.bin", TokenFormat::kLlmC), HasSubstr("nano.bin has 10 bytes"));
  write_file_atomically(dir_ / "megatron.bin", "1234");
  EXPECT_THAT(refusal_of("megatron.idx", TokenFormat::kMegatron), HasSubstr("megatron.bin has 4"));
  EXPECT_THAT(error_text<UsageError>([&] {
                const TokenFile file(dir_ / "olmo.npy", {.format = TokenFormat::kMegatron});
              }),
              HasSubstr("olmo.npy is to be read as Megatron's"));
}

}  // namespace
}  // namespace shoal::data

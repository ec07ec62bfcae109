#include "shoal/data/shards/token_shard.h"

#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

#include "tests/data/loader/data_set.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using tests::TempDir;

const TokenLayout kNarrow{.tokenizer = "t", .vocab_size = 1009};
const TokenLayout kWide{.tokenizer = "t", .vocab_size = 100'003, .loss_mask = true};

TokenShard open_first(const TempDir& directory) {
  const Manifest manifest = read_manifest(directory.path());
  return {directory.path(), Split::kTrain, manifest.layout, manifest.train.shards[0]};
}

TEST(TokenShard, GivesBackTokensMaskAndDocuments) {
  for (const TokenLayout& layout : {kNarrow, kWide}) {
    const TempDir directory;
    const auto shards = random_shards(1, layout.vocab_size, 3);
    write_data_set(directory.path(), layout, shards);
    const TokenShard shard = open_first(directory);
    const std::vector<int32_t> expected = tokens_of(shards[0]);
    ASSERT_EQ(shard.tokens(), expected.size());
    for (const size_t first : {size_t{0}, size_t{1}, size_t{131}, expected.size() - 7}) {
      const size_t count = std::min<size_t>(211, expected.size() - first);
      std::vector<int32_t> ids(count);
      std::vector<uint8_t> mask(count);
      shard.copy(first, ids);
      shard.copy_mask(first, mask);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(ids[i], expected[first + i]);
        EXPECT_EQ(mask[i], !layout.loss_mask || ids[i] % 3 != 0);
      }
    }
    std::vector<uint32_t> lengths;
    shard.append_document_lengths(0, shard.tokens(), lengths);
    ASSERT_EQ(lengths.size(), shards[0].size());
    for (size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(lengths[i], shards[0][i].size());
  }
}

TEST(TokenShard, LengthsOfAPartAddUpAndFollowTheDocuments) {
  const TempDir directory;
  const auto shards = random_shards(1, kNarrow.vocab_size, 5);
  write_data_set(directory.path(), kNarrow, shards);
  const TokenShard shard = open_first(directory);
  const std::vector<uint64_t> ends = shard.document_ends();
  ASSERT_EQ(ends.size(), shards[0].size());
  for (uint64_t first = 0; first + 53 <= shard.tokens(); ++first) {
    std::vector<uint32_t> expected;
    uint64_t from = first;
    for (const uint64_t end : ends) {
      if (end <= from) continue;
      expected.push_back(static_cast<uint32_t>(std::min(end, first + 53) - from));
      from = end;
      if (from >= first + 53) break;
    }
    std::vector<uint32_t> lengths;
    shard.append_document_lengths(first, 53, lengths);
    ASSERT_EQ(lengths, expected) << first;
  }
}

TEST(TokenShard, ALongDocumentIsOneOverSeveralBlocks) {
  const TempDir directory;
  TestDocument longest(5 * prepare::kBlockTokens + 17);
  for (size_t i = 0; i < longest.size(); ++i) longest[i] = static_cast<TokenId>(i * 7 % 1009);
  const std::vector<TestShard> shards = {{{1, 2, 3}, longest, {4, 5}}};
  write_data_set(directory.path(), kNarrow, shards);
  const TokenShard shard = open_first(directory);
  std::vector<int32_t> ids(shard.tokens());
  shard.copy(0, ids);
  EXPECT_EQ(ids, tokens_of(shards[0]));
  std::vector<uint32_t> lengths;
  shard.append_document_lengths(0, shard.tokens(), lengths);
  EXPECT_THAT(lengths, ::testing::ElementsAre(3, longest.size(), 2));
  EXPECT_THAT(shard.document_ends(),
              ::testing::ElementsAre(3, 3 + longest.size(), 5 + longest.size()));
}

TEST(TokenShard, EveryFlippedByteOfABlockIsFound) {
  const TempDir directory;
  write_data_set(directory.path(), kWide, {{{7, 8, 9}, {10, 11}}});
  const Manifest manifest = read_manifest(directory.path());
  const Shard blocks = read_shard_blocks(directory.path(), Split::kTrain, manifest.train.shards[0]);
  ASSERT_EQ(blocks.blocks.size(), 1U);
  const Block& block = blocks.blocks[0];
  const std::filesystem::path path = directory.path() / blocks.file;
  const std::string whole = read_file(path, 1 << 20);
  for (uint64_t place = block.at; place < block.at + block.bytes; ++place) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    write_file_atomically(path, damaged);
    const TokenShard shard = open_first(directory);
    std::vector<int32_t> ids(1);
    EXPECT_THAT([&] { shard.copy(0, ids); },
                ThrowsMessage<DataError>(
                    AllOf(HasSubstr("is damaged"),
                          HasSubstr("remove " + (directory.path() / part_file(0)).string() +
                                    ", and give the same"))));
  }
}

TEST(TokenShard, AFileOfAnotherSizeIsRefused) {
  const TempDir directory;
  write_data_set(directory.path(), kNarrow, random_shards(1, 1009, 7));
  const std::filesystem::path path = directory.path() / shard_file(Split::kTrain, 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THAT([&] { open_first(directory); },
              ThrowsMessage<DataError>(
                  HasSubstr("it was cut or replaced; give the same `shoal prepare` again")));
}

TEST(TokenShard, IdsBeyondTheVocabularyAreRefused) {
  const TempDir directory;
  TokenLayout layout = kNarrow;
  layout.vocab_size = 10;
  write_data_set(directory.path(), layout, {{{1, 9}, {10}}});
  const TokenShard shard = open_first(directory);
  std::vector<int32_t> ids(1);
  EXPECT_THAT([&] { shard.copy(0, ids); },
              ThrowsMessage<DataError>(HasSubstr("holds the id 10, but the vocabulary has 10")));
}

TEST(TokenShard, AHostilePartFileCannotReachOutside) {
  const TempDir directory;
  write_data_set(directory.path(), kNarrow, {{{1, 2, 3}}});
  const Manifest manifest = read_manifest(directory.path());
  const PreparedPart part =
      part_from_json(read_file(directory.path() / part_file(0), 1 << 20), "part-00000.json");
  const uint64_t kFar = uint64_t{1} << 45;
  const auto with = [&](auto change) {
    PreparedPart changed = part;
    change(changed.train->blocks[0]);
    ShardEntry entry = manifest.train.shards[0];
    const std::string json = to_json(changed);
    entry.part_digest = xxh3_128(json).hex();
    write_file_atomically(directory.path() / part_file(0), json);
    EXPECT_THROW(TokenShard(directory.path(), Split::kTrain, manifest.layout, entry), DataError);
  };
  with([&](Block& block) { block.at = kFar; });
  with([&](Block& block) { block.bytes = kFar; });
  with([&](Block& block) { block.tokens_at = kFar; });
  with([&](Block& block) { block.tokens_at = 0; });
  with([&](Block& block) { block.tokens_at += 1; });
  with([&](Block& block) { block.ends_at += block.bytes - 4; });
  with([&](Block& block) { block.rows = 1U << 30; });
}

TEST(Manifest, ChangedPartsAndStrangePathsAreRefused) {
  const TempDir directory;
  write_data_set(directory.path(), kNarrow, {{{1, 2, 3}}});
  const Manifest manifest = read_manifest(directory.path());
  const std::string json = read_file(directory.path() / kManifestFile, 1 << 20);
  EXPECT_EQ(to_json(manifest), json);
  for (const auto& [what, instead] : std::vector<std::pair<std::string, std::string>>{
           {"train-00000.arrow", "../train-00000.arrow"},
           {"train-00000.arrow", "/etc/passwd"},
           {"\"version\": 1", "\"version\": 2"},
           {"\"tokens\": 3", "\"tokens\": 4"},
           {"\"tokens\": 3", "\"tokens\": -3"},
           {"\"format\"", "\"vormat\""}}) {
    std::string changed = json;
    changed.replace(changed.find(what), what.size(), instead);
    EXPECT_THROW(manifest_from_json(changed, "m"), DataError) << instead;
  }
  std::ofstream(directory.path() / part_file(0), std::ios::app) << " ";
  EXPECT_THAT([&] { open_first(directory); },
              ThrowsMessage<DataError>(HasSubstr("one of them was changed; remove it, and give")));
}

TEST(Manifest, APartOfMoreThanAHundredBillionTokensIsReadBack) {
  const TempDir directory;
  PreparedPart part;
  part.train.emplace();
  part.train->file = shard_file(Split::kTrain, 0);
  part.train->digest = std::string(32, 'd');
  uint64_t at = 1'000'003;
  for (uint64_t number = 0; number < 375'017; ++number) {
    const auto tokens = static_cast<uint32_t>((1 << 19) + number % 1009);
    part.train->blocks.push_back({.at = at,
                                  .bytes = 4 * tokens + 64,
                                  .crc32c = static_cast<uint32_t>(number),
                                  .tokens_at = at + 32,
                                  .ends_at = at,
                                  .tokens = tokens,
                                  .rows = 1});
    part.train->tokens += tokens;
    at += 4 * tokens + 128;
  }
  part.train->bytes = at;
  const std::string json = to_json(part);
  EXPECT_GT(json.size(), size_t{64} << 20);
  write_file_atomically(directory.path() / part_file(0), json);
  EXPECT_EQ(read_part(directory.path() / part_file(0)).part, part);
}

}  // namespace
}  // namespace shoal::data

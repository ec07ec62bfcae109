#include "shoal/data/loader/loader.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

#include "tests/data/loader/counted_allocations.h"
#include "tests/data/loader/data_set.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using tests::TempDir;

const TokenLayout kLayout{.tokenizer = "t", .vocab_size = 1009};
constexpr uint32_t kLength = 17;

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    write_data_set(one_.path(), kLayout, random_shards(11, 1009, 1));
    write_data_set(two_.path(), kLayout, random_shards(3, 1009, 2));
    stream_ = std::make_shared<SampleStream>(
        StreamOptions{.sources = {{one_.path(), 3}, {two_.path(), 1}},
                      .sequence_length = kLength,
                      .seed = 7,
                      .window_shards = 4});
  }

  std::vector<int32_t> row(uint64_t index) const {
    std::vector<int32_t> tokens(kLength + 1);
    std::vector<uint32_t> lengths;
    stream_->read(index, {tokens, {}, lengths});
    return tokens;
  }

  TempDir one_;
  TempDir two_;
  std::shared_ptr<SampleStream> stream_;
};

// All ranks' rows of one step, in the order of the ranks.
std::vector<int32_t> step_of(std::vector<std::unique_ptr<Loader>>& ranks) {
  std::vector<int32_t> tokens;
  for (auto& rank : ranks) {
    const Batch& batch = rank->next();
    tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
  }
  return tokens;
}

std::vector<std::unique_ptr<Loader>> ranks_of(const std::shared_ptr<SampleStream>& stream,
                                              int world_size,
                                              uint64_t global_batch,
                                              uint64_t first,
                                              int threads = 1) {
  std::vector<std::unique_ptr<Loader>> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.push_back(std::make_unique<Loader>(stream, LoaderOptions{.global_batch = global_batch,
                                                                   .rank = rank,
                                                                   .world_size = world_size,
                                                                   .first_sample = first,
                                                                   .threads = threads}));
  }
  return ranks;
}

TEST_F(LoaderTest, AnyNumberOfRanksSeesTheSameTokens) {
  constexpr uint64_t kBatch = 29;  // divides by none of them
  for (const int world_size : {1, 2, 3, 4, 8}) {
    auto ranks = ranks_of(stream_, world_size, kBatch, 0, world_size % 3 + 1);
    for (uint64_t step = 0; step < 30; ++step) {
      std::vector<int32_t> expected;
      for (uint64_t index = step * kBatch; index < (step + 1) * kBatch; ++index) {
        const std::vector<int32_t> tokens = row(index);
        expected.insert(expected.end(), tokens.begin(), tokens.end());
      }
      ASSERT_EQ(step_of(ranks), expected) << world_size << " ranks, step " << step;
    }
  }
}

TEST_F(LoaderTest, AnyScheduleOfKillsAndWorldSizesSeesTheSameTokens) {
  constexpr uint64_t kBatch = 13;
  std::mt19937 random(5);
  uint64_t next = 0;
  for (int life = 0; life < 40; ++life) {
    const int world_size = std::array{1, 2, 3, 4, 8}[random() % 5];
    auto ranks = ranks_of(stream_, world_size, kBatch, next);
    for (uint64_t step = random() % 7; step > 0; --step) {
      std::vector<int32_t> expected;
      for (uint64_t index = next; index < next + kBatch; ++index) {
        const std::vector<int32_t> tokens = row(index);
        expected.insert(expected.end(), tokens.begin(), tokens.end());
      }
      ASSERT_EQ(step_of(ranks), expected);
      next += kBatch;
      for (const auto& rank : ranks) ASSERT_EQ(rank->next_sample(), next);
    }
  }
  EXPECT_GT(next, stream_->source(1).samples_per_epoch());  // through more than one epoch
}

TEST_F(LoaderTest, DocumentLengthsComeRowByRow) {
  Loader loader(stream_, {.global_batch = 5});
  const Batch& batch = loader.next();
  size_t at = 0;
  for (size_t number = 0; number < batch.rows; ++number) {
    uint32_t sum = 0;
    while (sum < kLength) sum += batch.document_lengths[at++];
    EXPECT_EQ(sum, kLength);
  }
  EXPECT_EQ(at, batch.document_lengths.size());
}

TEST_F(LoaderTest, AllocatesNothingInSteadyState) {
  if (allocations_so_far() == 0) GTEST_SKIP() << "allocations are not counted under sanitizers";
  Loader loader(stream_, {.global_batch = 8, .threads = 2});
  for (int step = 0; step < 100; ++step) loader.next();  // all shards are open
  const uint64_t before = allocations_so_far();
  // Within an epoch: entering one makes its tables, once in hours.
  const uint64_t left = stream_->source(0).samples_per_epoch() / 8 / 4;
  for (uint64_t step = 0; step < std::min<uint64_t>(left, 10); ++step) loader.next();
  EXPECT_EQ(allocations_so_far() - before, 0U);
}

TEST_F(LoaderTest, AnErrorComesWhenItsBatchDoesAndAgain) {
  const Manifest manifest = read_manifest(one_.path());
  const std::filesystem::path path = one_.path() / manifest.train.shards[6].file;
  const Shard blocks = read_shard_blocks(one_.path(), Split::kTrain, manifest.train.shards[6]);
  std::string damaged = read_file(path, 1 << 24);
  damaged[blocks.blocks[0].tokens_at] ^= 1;
  write_file_atomically(path, damaged);
  const auto sequential = std::make_shared<SampleStream>(StreamOptions{
      .sources = {{one_.path(), 1}}, .sequence_length = kLength, .order = OrderKind::kSequential});
  uint64_t good = 0;
  for (size_t shard = 0; shard < 6; ++shard)
    good += (manifest.train.shards[shard].tokens - 1) / kLength;
  Loader loader(sequential, {.global_batch = 1, .threads = 3, .ahead = 5});
  for (uint64_t step = 0; step < good; ++step) EXPECT_NO_THROW(loader.next());
  for (int again = 0; again < 3; ++again)
    EXPECT_THAT([&] { loader.next(); }, ThrowsMessage<DataError>(HasSubstr("is damaged")));
  EXPECT_EQ(loader.next_sample(), good);
}

TEST_F(LoaderTest, MoreRanksThanSamplesIsAUsageError) {
  EXPECT_THROW(Loader(stream_, {.global_batch = 3, .rank = 0, .world_size = 4}), UsageError);
}

TEST_F(LoaderTest, EndsWhileItsThreadsWait) {
  for (int round = 0; round < 50; ++round) {
    Loader loader(stream_, {.global_batch = 2, .threads = 3});
    if (round % 2 == 0) loader.next();
  }
}

// 31,250 shards of 32,000,000 tokens: one real shard under many names.
TEST(Trillion, FirstBatchAfterResumingReadsOnlyItsOwnParts) {
  const TempDir directory;
  TestDocument document(32'000'000);
  for (size_t i = 0; i < document.size(); ++i) document[i] = static_cast<TokenId>(i % 1009);
  prepare::ShardWriter writer(directory.path(), "real", kLayout);
  writer.add(document);
  writer.end_document();
  PreparedPart part;
  part.train = writer.finish();
  ManifestBuilder builder(kLayout);
  constexpr uint64_t kShards = 31'250;
  for (uint64_t number = 0; number < kShards; ++number) {
    part.train->file = shard_file(Split::kTrain, number);
    std::filesystem::create_hard_link(directory.path() / "real",
                                      directory.path() / part.train->file);
    const std::string json = to_json(part);
    // Only parts that are read have to be there; all of them would be 250 MB.
    builder.add(number, {part, xxh3_128(json).hex()});
  }
  write_file_atomically(directory.path() / kManifestFile, to_json(builder.manifest()));
  ASSERT_EQ(builder.manifest().train.tokens, 1'000'000'000'000U);

  // The part of the sample that will be asked for.
  const StreamOptions options{
      .sources = {{directory.path(), 1}}, .sequence_length = 2048, .seed = 1};
  const uint64_t resume = 321'987'654;
  std::vector<uint64_t> samples(kShards, 31'999'999 / 2048);
  const SampleOrder order(samples, {.seed = 1, .name = "source 0"});
  for (uint64_t index = resume; index < resume + 64; ++index) {
    const uint64_t number = order.at(index).shard;
    part.train->file = shard_file(Split::kTrain, number);
    write_file_atomically(directory.path() / part_file(number), to_json(part));
  }

  Loader loader(std::make_shared<SampleStream>(options),
                {.global_batch = 8, .first_sample = resume});
  EXPECT_EQ(loader.next().first_sample, resume);
}

}  // namespace
}  // namespace shoal::data

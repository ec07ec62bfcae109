#include "shoal/data/loader/sample_stream.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/data/loader/data_set.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using tests::TempDir;

const TokenLayout kMarkedLayout{.tokenizer = "t", .vocab_size = 1009, .end_of_document = 1008};

struct Sample {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> mask;
  std::vector<uint32_t> lengths;

  bool operator==(const Sample&) const = default;
};

template <class From>
Sample read(const From& from, uint64_t index, uint32_t length) {
  Sample sample{std::vector<int32_t>(length + 1),
                std::vector<uint8_t>(from.has_loss_mask() ? length : 0),
                {}};
  from.read(index, {sample.tokens, sample.mask, sample.lengths});
  EXPECT_EQ(std::accumulate(sample.lengths.begin(), sample.lengths.end(), 0U), length);
  return sample;
}

TEST(TokenSource, SamplesLieEndToEnd) {
  const TempDir directory;
  const auto shards = random_shards(5, 1009, 1);
  write_data_set(directory.path(), kMarkedLayout, shards);
  const uint32_t length = 31;
  const TokenSource source({.directory = directory.path(),
                            .sequence_length = length,
                            .order = {.kind = OrderKind::kSequential}});
  uint64_t index = 0;
  for (const TestShard& shard : shards) {
    const std::vector<int32_t> tokens = tokens_of(shard);
    for (size_t first = 0; first + length < tokens.size(); first += length) {
      const Sample sample = read(source, index++, length);
      EXPECT_TRUE(std::equal(sample.tokens.begin(), sample.tokens.end(),
                             tokens.begin() + static_cast<ptrdiff_t>(first)));
    }
  }
  EXPECT_EQ(source.samples_per_epoch(), index);
}

TEST(TokenSource, PackedDocumentsComeOnceAndWhole) {
  const TempDir directory;
  auto shards = random_shards(7, 1000, 2);
  shards[3].push_back(TestDocument(301, 77));  // longer than a sequence
  write_data_set(directory.path(), kMarkedLayout, shards, {63});
  const TokenSource source(
      {.directory = directory.path(), .sequence_length = 63, .packing = PackingKind::kBestFit});
  std::multiset<std::vector<int32_t>> expected;
  for (const TestShard& shard : shards) {
    for (const TestDocument& document : shard) {
      // Capacity is one more than the inputs: 64.
      for (size_t first = 0; first < document.size(); first += 64)
        expected.emplace(
            document.begin() + static_cast<ptrdiff_t>(first),
            document.begin() + static_cast<ptrdiff_t>(std::min(first + 64, document.size())));
    }
  }
  std::multiset<std::vector<int32_t>> found;
  for (uint64_t index = 0; index < source.samples_per_epoch(); ++index) {
    const Sample sample = read(source, index, 63);
    std::vector<uint8_t> counted(63, 0);  // targets whose input is of the same document
    auto at = sample.tokens.begin();
    for (size_t i = 0; i < sample.lengths.size(); ++i) {
      const bool last = i + 1 == sample.lengths.size();
      const auto end = last ? sample.tokens.end() : at + sample.lengths[i];
      const bool padding = *at == 1008;
      if (!padding) {
        // The last token is a target only: it may be the last document's, padding, or a document alone.
        std::vector<int32_t> document(at, end);
        int32_t alone = -1;
        if (last && document.back() == 1008) {
          document.pop_back();
        } else if (last && !expected.contains(document)) {
          alone = document.back();
          document.pop_back();
        }
        std::fill_n(counted.begin() + (at - sample.tokens.begin()), document.size() - 1,
                    uint8_t{1});
        found.insert(document);
        if (alone >= 0) found.insert({alone});
      }
      at = end;
    }
    EXPECT_EQ(sample.mask, counted);
  }
  EXPECT_EQ(found, expected);
}

TEST(TokenSource, PackingIsAskedForWhenPreparing) {
  const TempDir directory;
  write_data_set(directory.path(), kMarkedLayout, random_shards(2, 1009, 2), {64});
  EXPECT_THAT(([&] {
                TokenSource({.directory = directory.path(),
                             .sequence_length = 63,
                             .packing = PackingKind::kBestFit});
              }),
              ThrowsMessage<UsageError>(HasSubstr("--pack 63")));
}

TEST(TokenSource, TooLittleForASampleIsSaid) {
  const TempDir directory;
  write_data_set(directory.path(), kMarkedLayout, {{{1, 2, 3}}});
  EXPECT_NO_THROW(TokenSource({.directory = directory.path(), .sequence_length = 2}));
  EXPECT_THAT(([&] { TokenSource({.directory = directory.path(), .sequence_length = 3}); }),
              ThrowsMessage<UsageError>(HasSubstr("has 3 train tokens")));
  EXPECT_THAT(([&] { TokenSource({.directory = directory.path() / "nowhere"}); }),
              ThrowsMessage<DataError>(HasSubstr("has no manifest.json")));
}

TEST(SampleStream, MixesByWeightAndAccountsExactly) {
  const TempDir one;
  const TempDir two;
  const TempDir three;
  // Each source has ids of its own.
  write_data_set(one.path(), kMarkedLayout, {{TestDocument(2000, 1)}});
  write_data_set(two.path(), kMarkedLayout, {{TestDocument(300, 2)}});
  write_data_set(three.path(), kMarkedLayout, {{TestDocument(700, 3)}});
  const SampleStream stream({.sources = {{one.path(), 5}, {two.path(), 2.5}, {three.path(), 0.7}},
                             .sequence_length = 13,
                             .seed = 3});
  std::map<int32_t, uint64_t> counts;
  for (uint64_t index = 0; index < 1000; ++index) {
    for (int32_t source = 0; source < 3; ++source)
      ASSERT_EQ(stream.drawn_from(static_cast<size_t>(source), index), counts[source + 1]);
    ++counts[read(stream, index, 13).tokens[0]];
  }
  EXPECT_NEAR(static_cast<double>(counts[1]), 1000 * 5 / 8.2, 2);
  EXPECT_NEAR(static_cast<double>(counts[3]), 1000 * 0.7 / 8.2, 2);
}

TEST(SampleStream, OtherTokenizersDoNotMix) {
  const TempDir one;
  const TempDir two;
  write_data_set(one.path(), kMarkedLayout, {{TestDocument(200, 1)}});
  TokenLayout other = kMarkedLayout;
  other.tokenizer = "u";
  write_data_set(two.path(), other, {{TestDocument(200, 1)}});
  EXPECT_THAT(([&] {
                SampleStream({.sources = {{one.path(), 1}, {two.path(), 1}}, .sequence_length = 8});
              }),
              ThrowsMessage<UsageError>(HasSubstr("another tokenizer")));
}

TEST(SampleStream, IdentityChangesWithWhateverChangesSamples) {
  const TempDir one;
  const TempDir two;
  write_data_set(one.path(), kMarkedLayout, random_shards(3, 1009, 1), {8, 9});
  write_data_set(two.path(), kMarkedLayout, random_shards(3, 1009, 2), {8, 9});
  const StreamOptions options{.sources = {{one.path(), 1}}, .sequence_length = 8};
  std::set<std::string> identities = {SampleStream(options).identity()};
  EXPECT_EQ(identities, std::set{SampleStream(options).identity()});
  const auto with = [&](auto change) {
    StreamOptions changed = options;
    change(changed);
    EXPECT_TRUE(identities.insert(SampleStream(changed).identity()).second);
  };
  with([&](StreamOptions& o) { o.sources[0].directory = two.path(); });
  with([&](StreamOptions& o) { o.sources.push_back({two.path(), 1}); });
  with([&](StreamOptions& o) { o.sources.push_back({two.path(), 2}); });
  with([&](StreamOptions& o) { o.sequence_length = 9; });
  with([&](StreamOptions& o) { o.packing = PackingKind::kBestFit; });
  with([&](StreamOptions& o) { o.order = OrderKind::kSequential; });
  with([&](StreamOptions& o) { o.seed = 5; });
  with([&](StreamOptions& o) { o.window_shards = 2; });
}

}  // namespace
}  // namespace shoal::data

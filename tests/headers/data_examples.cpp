#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/random.h"
#include "shoal/data/documents/document.h"
#include "shoal/data/loader/loader.h"
#include "shoal/data/loader/sample_stream.h"
#include "shoal/data/loader/token_source.h"
#include "shoal/data/order/bijection.h"
#include "shoal/data/order/mixture.h"
#include "shoal/data/order/packing.h"
#include "shoal/data/order/sample_order.h"
#include "shoal/data/shards/manifest.h"
#include "shoal/data/shards/token_shard.h"
#include "shoal/data/token_files/token_file.h"
#include "shoal/data/tokenizer/bpe_trainer.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/data/tokenizer/piece_counts.h"
#include "shoal/data/tokenizer/split.h"
#include "shoal/data/tokenizer/tokenizer.h"
#include "shoal/data/tokenizer/unicode.h"
#include "shoal/prepare/document_hash.h"
#include "shoal/prepare/input_files.h"
#include "shoal/prepare/prepare.h"
#include "shoal/prepare/rank_lock.h"
#include "shoal/prepare/shard_writer.h"

namespace shoal::data {
namespace {

// shoal/data/documents/document.h
void documents(DocumentReader& reader, void (*use)(std::string_view)) {
  for (Document document; reader.next(document);) use(document.text);
}

// shoal/data/loader/loader.h
void loader(const std::shared_ptr<const SampleStream>& stream, uint64_t cursor) {
  Loader loader(stream, {.global_batch = 512, .rank = 3, .world_size = 8, .first_sample = cursor});
  const Batch& batch = loader.next();
}

// shoal/data/loader/sample_stream.h
void sample_stream(uint64_t index, const SampleRow& row) {
  SampleStream stream({.sources = {{"tokens/web", 0.7}, {"tokens/books", 0.3}}, .seed = 1});
  stream.read(index, row);
}

// shoal/data/loader/token_source.h
void token_source(uint64_t index, const SampleRow& row) {
  TokenSource web({.directory = "tokens/web", .sequence_length = 1024, .order = {.seed = 1}});
  web.read(index, row);
}

// shoal/data/order/bijection.h
TEST(HeaderExamples, Bijection) {
  const uint64_t seed = 1;
  const uint64_t samples = 1000;
  const Bijection shuffle(samples, Random(seed, RandomStream::kData, "web"));
  shuffle(17);
  shuffle.inverse(3);
}

// shoal/data/order/mixture.h
TEST(HeaderExamples, Mixture) {
  const uint64_t n = 1000;
  const Mixture mixture(std::vector<double>{0.7, 0.2, 0.1});
  const Mixture::Draw draw = mixture.at(n);
  EXPECT_EQ(mixture.count_before(draw.source, n), draw.index);
  EXPECT_NEAR(static_cast<double>(mixture.count_before(1, n)), 200, 1);
}

// shoal/data/order/packing.h
TEST(HeaderExamples, Packing) {
  const std::vector<uint64_t> document_ends = {1500, 2000, 3000};
  const Packing packing = pack_best_fit(document_ends, 2048);
  EXPECT_EQ(packing.sequence_ends.size(), 2);
}

// shoal/data/order/sample_order.h
TEST(HeaderExamples, SampleOrder) {
  const std::vector<uint64_t> samples_per_shard = {30, 12};
  const uint64_t index = 42;
  const SampleOrder order(samples_per_shard, {.seed = 1, .name = "web"});
  const SamplePlace place = order.at(index);
  EXPECT_EQ(place.epoch, 1);
}

// shoal/data/shards/manifest.h
void manifest() {
  const Manifest manifest = read_manifest("tokens");
  manifest.train.tokens;
  read_shard_blocks("tokens", Split::kTrain, manifest.train.shards[3]);
}

// shoal/data/shards/token_shard.h
void token_shard(const Manifest& manifest, uint64_t first, std::span<int32_t> to) {
  TokenShard shard("tokens", Split::kTrain, manifest.layout, manifest.train.shards[3]);
  shard.copy(first, to);
}

// shoal/data/token_files/token_file.h
void token_file(void (*use)(const std::vector<TokenId>&)) {
  TokenFile file("fineweb_train_000001.bin", {.format = TokenFormat::kLlmC,
                                              .vocab_size = 50257,
                                              .mark = DocumentMark{50256, MarkPlace::kFirst}});
  std::vector<TokenId> document;
  while (file.next(SIZE_MAX, document) != TokenFile::Status::kEnd) {
    use(document);
    document.clear();
  }
}

// shoal/data/tokenizer/bpe_trainer.h
void bpe_trainer(const PieceCounts& counts) {
  TokenizerParts parts = train_bpe(counts, {.vocab_size = 32000});
}

// shoal/data/tokenizer/encoder.h
void encoder(const std::shared_ptr<const Tokenizer>& tokenizer,
             std::string_view text,
             std::vector<TokenId>& ids) {
  Encoder encoder(tokenizer);
  encoder.encode(text, ids);
}

// shoal/data/tokenizer/piece_counts.h
void piece_counts(const NextChunk& next_chunk) {
  PieceCounts counts = count_pieces({.pattern = Pattern::kGpt2, .threads = 2}, next_chunk);
}

// shoal/data/tokenizer/split.h
void split(const char* text, const char* end) {
  for (const char* at = text; at != end;) {
    const char* next = next_piece(Pattern::kGpt2, at, end);
    at = next;
  }
}

// shoal/data/tokenizer/tokenizer.h
void tokenizer(const std::vector<TokenId>& ids) {
  const auto tokenizer = read_tokenizer("gpt2/tokenizer.json");
  tokenizer->decode(ids);
}

// shoal/data/tokenizer/unicode.h
TEST(HeaderExamples, Unicode) {
  const std::string_view text = "\u00c4";
  const char* at = text.data();
  const char* end = at + text.size();
  const Rune rune = read_rune(at, end);
  rune.kind, rune.bytes;
  EXPECT_EQ(rune.kind, CharClass::kUpper);
  EXPECT_EQ(rune.bytes, 2);
}

}  // namespace
}  // namespace shoal::data

namespace shoal::prepare {
namespace {

// shoal/prepare/document_hash.h
void document_hash(data::DocumentReader& reader, void (*use)(const Hash128&)) {
  DocumentHash hash;
  for (data::Document piece; reader.next(piece);) {
    hash.add(piece);
    if (piece.ends) use(hash.value());
  }
}

// shoal/prepare/input_files.h
void input_files() {
  const std::vector<InputFile> inputs =
      find_inputs({"corpus/*.jsonl.gz", "s3://bucket/books"}, "tokens");
}

// shoal/prepare/prepare.h
void prepare_books(const std::shared_ptr<const data::Tokenizer>& tokenizer) {
  Progress progress;
  prepare({.inputs = {"books/*.jsonl.gz"}, .tokenizer = tokenizer, .output = "tokens"}, progress);
}

// shoal/prepare/rank_lock.h
void rank_lock(int rank, int world_size) { const RankLock lock("tokens", rank, world_size); }

// shoal/prepare/shard_writer.h
void shard_writer(const data::TokenLayout& layout, const std::vector<data::TokenId>& ids) {
  using data::Shard;
  ShardWriter writer("tokens", "train-00000.arrow", layout);
  writer.add(ids);
  writer.end_document();
  const Shard shard = writer.finish();
}

}  // namespace
}  // namespace shoal::prepare

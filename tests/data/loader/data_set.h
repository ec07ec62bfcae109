// data_set.h -- small prepared directories, for tests of what reads them.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "shoal/core/files.h"
#include "shoal/data/shards/manifest.h"
#include "shoal/data/token_id.h"
#include "shoal/prepare/shard_writer.h"

#include "tests/support/temp_dir.h"

namespace shoal::data {

using TestDocument = std::vector<TokenId>;
using TestShard = std::vector<TestDocument>;

// Writes what `shoal prepare` would, a part for each shard. With a loss mask every third id is not
// trained on.
inline void write_data_set(const std::filesystem::path& directory,
                           const TokenLayout& layout,
                           const std::vector<TestShard>& shards,
                           const std::vector<uint32_t>& pack = {}) {
  ManifestBuilder builder(layout);
  for (uint64_t number = 0; number < shards.size(); ++number) {
    prepare::ShardWriter writer(directory, shard_file(Split::kTrain, number), layout, pack);
    for (const TestDocument& document : shards[number]) {
      for (const TokenId id : document) writer.add({&id, 1}, !layout.loss_mask || id % 3 != 0);
      writer.end_document();
    }
    PreparedPart part;
    part.train = writer.finish();
    const std::filesystem::path path = directory / part_file(number);
    write_file_atomically(path, to_json(part));
    builder.add(number, read_part(path));
  }
  write_file_atomically(directory / kManifestFile, to_json(builder.manifest()));
}

// Shards of documents of many lengths, all ids below `vocab_size`.
inline std::vector<TestShard> random_shards(size_t count, uint32_t vocab_size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TestShard> shards(count);
  for (TestShard& shard : shards) {
    const size_t documents = 5 + random() % 40;
    for (size_t number = 0; number < documents; ++number) {
      TestDocument document(1 + random() % 97);
      for (TokenId& id : document) id = static_cast<TokenId>(random() % vocab_size);
      shard.push_back(std::move(document));
    }
  }
  return shards;
}

inline std::vector<int32_t> tokens_of(const TestShard& shard) {
  std::vector<int32_t> all;
  for (const TestDocument& document : shard)
    all.insert(all.end(), document.begin(), document.end());
  return all;
}

}  // namespace shoal::data

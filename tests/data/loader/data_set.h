// data_set.h -- small prepared directories, for tests of what reads them.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "shoal/core/checksum.h"
#include "shoal/core/files.h"
#include "shoal/data/shards/manifest.h"
#include "shoal/data/token_id.h"
#include "shoal/prepare/shard_writer.h"

namespace shoal::data {

using TestDocument = std::vector<TokenId>;
using TestShard = std::vector<TestDocument>;

// Removed with everything in it.
class TestDirectory {
 public:
  TestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

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
    Part part;
    part.train = writer.finish();
    const std::string json = to_json(part);
    write_file_atomically(directory / part_file(number), json);
    builder.add(number, part, xxh3_128(json).hex());
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

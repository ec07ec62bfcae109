// manifest.h -- the manifest of a directory that `shoal prepare` made: its shards, their content,
// and the checksums that prove it.
//
//   const Manifest manifest = read_manifest("tokens");
//   manifest.train.tokens
//   read_shard_blocks("tokens", Split::kTrain, manifest.train.shards[3])
//
// A prepared directory holds
//   manifest.json                     totals, one line per shard; written last, so it is all there
//   train-00000.arrow, validation-00000.arrow, ...    the tokens of part 0 of the input
//   part-00000.json                   what part 0 became: the blocks of its shards
// manifest.json grows with the shards only (6 MB for 10^12 tokens): a rank reads it whole, and the
// blocks of a shard when it first opens the shard. The manifest holds the digests of all other
// files. Everything that is read is checked; only these functions write, so the same input gives
// the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::data {

enum class Split { kTrain, kValidation };

inline constexpr std::array kSplits = {Split::kTrain, Split::kValidation};

std::string_view split_name(Split split);  // "train", "validation"

// The format of tokens, the same in all shards of a directory.
struct TokenLayout {
  std::string tokenizer;                    // hash of the tokenizer that made the ids
  uint32_t vocab_size = 0;                  // every id is below it
  std::optional<uint32_t> end_of_document;  // id that ends each document, if one does
  bool loss_mask = false;                   // some tokens are not trained on

  // Returns the bytes of one token in the file.
  [[nodiscard]] uint32_t token_bytes() const { return vocab_size <= 1U << 16 ? 2 : 4; }
  bool operator==(const TokenLayout&) const = default;
};

// A record batch of a shard: documents one after the other. Places are byte offsets in the file.
struct Block {
  uint64_t at = 0;  // its body, which the checksum covers
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  uint64_t tokens_at = 0;  // where the `tokens` ids are
  uint64_t ends_at = 0;    // int32: 0, then where each of the `rows` ends
  uint64_t mask_at = 0;    // one bit per token, if there is a loss mask
  uint32_t tokens = 0;
  uint32_t rows = 0;
  bool continues = false;  // its first row continues the last document of the block before

  bool operator==(const Block&) const = default;
};

// The number of best-fit packed sequences, by their length in inputs.
using PackedCounts = std::map<uint32_t, uint64_t>;

struct Shard {
  std::string file;
  uint64_t bytes = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;  // documents that end here
  std::string digest;      // XXH3-128 of the file
  PackedCounts packed;
  std::vector<Block> blocks;

  bool operator==(const Shard&) const = default;
};

// The result of one part of the input. Its file also marks the part as done.
struct PreparedPart {
  std::optional<Shard> train;
  std::optional<Shard> validation;
  uint64_t input_bytes = 0;
  uint64_t documents = 0;   // documents read
  uint64_t duplicates = 0;  // documents left out

  [[nodiscard]] const std::optional<Shard>& of(Split split) const {
    return split == Split::kTrain ? train : validation;
  }
  [[nodiscard]] std::optional<Shard>& of(Split split) {
    return split == Split::kTrain ? train : validation;
  }
  bool operator==(const PreparedPart&) const = default;
};

struct ShardEntry {
  std::string file;
  uint64_t part = 0;
  uint64_t bytes = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  std::string digest;
  std::string part_digest;  // digest of the part's file
  PackedCounts packed;
};

struct SplitEntry {
  uint64_t tokens = 0;
  uint64_t documents = 0;
  std::vector<ShardEntry> shards;  // in the order of the input
};

struct Manifest {
  TokenLayout layout;
  SplitEntry train;
  SplitEntry validation;
  uint64_t input_bytes = 0;
  uint64_t documents = 0;
  uint64_t duplicates = 0;
  std::string digest;  // XXH3-128 of the file itself: names the data set

  [[nodiscard]] const SplitEntry& of(Split split) const {
    return split == Split::kTrain ? train : validation;
  }
};

constexpr const char* kManifestFile = "manifest.json";
std::string part_file(uint64_t number);                // "part-00012.json"
std::string shard_file(Split split, uint64_t number);  // "train-00012.arrow"

std::string to_json(const PreparedPart& part);
PreparedPart part_from_json(std::string_view json, const std::string& name);

// A part and the digest of its file.
struct PartFile {
  PreparedPart part;
  std::string digest;  // XXH3-128 of the file
};

PartFile read_part(const std::filesystem::path& path);

// Builds a manifest from the parts, which are added in order.
class ManifestBuilder {
 public:
  explicit ManifestBuilder(TokenLayout layout) { manifest_.layout = std::move(layout); }

  void add(uint64_t number, const PartFile& file);
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }

 private:
  Manifest manifest_;
};

std::string to_json(const Manifest& manifest);
Manifest manifest_from_json(std::string_view json, const std::string& name);

// Throws DataError with the file and what is wrong with it.
Manifest read_manifest(const std::filesystem::path& directory);

// Returns the shard with its blocks. Throws DataError when the part's file is not the one the
// manifest was made of.
Shard read_shard_blocks(const std::filesystem::path& directory,
                        Split split,
                        const ShardEntry& entry);

}  // namespace shoal::data

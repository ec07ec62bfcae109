// manifest.h -- what `shoal prepare` made: which shards there are, what is in them, and the checksums
// that prove it.
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
// blocks of a shard when it first opens that. The manifest holds the digests of all other files.
// Everything read is checked; nothing is written but by these functions, so the same input gives the
// same bytes.
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

// How tokens are written, the same in all shards of a directory.
struct TokenLayout {
  std::string tokenizer;                    // hash of the one that made the ids
  uint32_t vocab_size = 0;                  // every id is below
  std::optional<uint32_t> end_of_document;  // id that ends each document, if one does
  bool loss_mask = false;                   // some tokens are not trained on

  // Of one token in the file.
  [[nodiscard]] uint32_t token_bytes() const { return vocab_size <= 1U << 16 ? 2 : 4; }
  bool operator==(const TokenLayout&) const = default;
};

// A record batch of a shard: documents one after the other. Places are bytes from the file's start.
struct Block {
  uint64_t at = 0;  // its body, all of it under the checksum
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  uint64_t tokens_at = 0;  // `tokens` ids
  uint64_t ends_at = 0;    // int32: 0, then where each of the `rows` ends
  uint64_t mask_at = 0;    // a bit per token, with a loss mask
  uint32_t tokens = 0;
  uint32_t rows = 0;
  bool continues = false;  // its first row goes on with the document of the block before

  bool operator==(const Block&) const = default;
};

// For sequences of so many inputs, packed best fit: how many there are.
using PackedCounts = std::map<uint32_t, uint64_t>;

struct Shard {
  std::string file;
  uint64_t bytes = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;  // that end here
  std::string digest;      // XXH3-128 of the file
  PackedCounts packed;
  std::vector<Block> blocks;

  bool operator==(const Shard&) const = default;
};

// What one part of the input became. Its file is also the sign that the part is done.
struct Part {
  std::optional<Shard> train;
  std::optional<Shard> validation;
  uint64_t input_bytes = 0;
  uint64_t documents = 0;   // read
  uint64_t duplicates = 0;  // of those, left out

  [[nodiscard]] const std::optional<Shard>& of(Split split) const {
    return split == Split::kTrain ? train : validation;
  }
  [[nodiscard]] std::optional<Shard>& of(Split split) {
    return split == Split::kTrain ? train : validation;
  }
  bool operator==(const Part&) const = default;
};

struct ShardEntry {
  std::string file;
  uint64_t part = 0;
  uint64_t bytes = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  std::string digest;
  std::string part_digest;  // of the part's file
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

std::string to_json(const Part& part);
Part part_from_json(std::string_view json, const std::string& name);

// A part as its file tells it.
struct PartFile {
  Part part;
  std::string digest;  // XXH3-128 of the file
};

PartFile read_part(const std::filesystem::path& path);

// The parts, in order.
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

// DataError names the file and what is wrong with it.
Manifest read_manifest(const std::filesystem::path& directory);

// The shard with its blocks. DataError when the part's file is not the one the manifest was made of.
Shard read_shard_blocks(const std::filesystem::path& directory,
                        Split split,
                        const ShardEntry& entry);

}  // namespace shoal::data

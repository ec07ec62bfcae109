// token_shard.h -- the tokens of one shard, mapped into memory.
//
//   TokenShard shard("tokens", Split::kTrain, manifest.layout, manifest.train.shards[3]);
//   shard.copy(first, to);
//
// Places are read from the part's file, not from Arrow's metadata, so that training links no Arrow
// and has one thing less to distrust. A block is checked when it is first used: its checksum, the
// order of its documents, and that every id is below the vocabulary's size. Share freely between
// threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "shoal/core/mapped_file.h"
#include "shoal/data/shards/manifest.h"

namespace shoal::data {

class TokenShard {
 public:
  // Throws DataError when the file is not as long as the manifest says, or a block lies outside of
  // it.
  TokenShard(const std::filesystem::path& directory,
             Split split,
             const TokenLayout& layout,
             const ShardEntry& entry);

  [[nodiscard]] uint64_t tokens() const { return shard_.tokens; }

  // Copies tokens first, first + 1, ... all of which the shard has. Throws DataError for a damaged
  // block.
  void copy(uint64_t first, std::span<int32_t> to) const;

  // Copies the loss mask: 1 for tokens that are trained on.
  void copy_mask(uint64_t first, std::span<uint8_t> to) const;

  // Appends the lengths of the documents, or parts of documents, in tokens [first, first + count).
  void append_document_lengths(uint64_t first,
                               uint64_t count,
                               std::vector<uint32_t>& lengths) const;

  // Returns where the documents end, ascending; the last is tokens().
  [[nodiscard]] std::vector<uint64_t> document_ends() const;

 private:
  // Calls use(block, first token in it, count) for the blocks that hold the tokens, each checked.
  template <class Use>
  void for_each_block(uint64_t first, uint64_t count, Use use) const;

  [[nodiscard]] const char* at(uint64_t place) const { return file_.bytes().data() + place; }
  [[nodiscard]] std::span<const int32_t> ends_of(const Block& block) const;
  void check_places(const Block& block) const;
  void check_content(const Block& block) const;
  [[noreturn]] void refuse(const Block& block, const std::string& what) const;

  std::filesystem::path path_;
  std::filesystem::path part_;  // the file that describes it
  TokenLayout layout_;
  Shard shard_;
  MappedFile file_;
  std::vector<uint64_t> first_tokens_;  // first token of each block, and the end of the last
  std::unique_ptr<std::atomic<bool>[]> checked_;
};

}  // namespace shoal::data

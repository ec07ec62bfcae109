// shard_writer.h -- writes tokens to a shard: a plain Arrow IPC file with one row per document.
//
//   ShardWriter writer("tokens", "train-00000.arrow", layout);
//   writer.add(ids);                 // as often as it takes
//   writer.end_document();
//   const Shard shard = writer.finish();
//
// Column `input_ids` holds a list of uint16 (uint32 for vocabularies beyond 65,536), column
// `loss_mask` a list of bool if the layout has one. Rows are collected into blocks of about half a
// million tokens. Only a document longer than that is cut, into rows of which all but the first
// have `continues` true. The file gets its name in finish().
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/data/shards/manifest.h"
#include "shoal/data/tokenizer/vocabulary.h"

namespace shoal::prepare {

constexpr size_t kBlockTokens = size_t{1} << 19;

class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& directory,
              const std::string& file,
              const data::TokenLayout& layout,
              std::vector<uint32_t> pack = {});
  ~ShardWriter();

  void add(std::span<const data::TokenId> ids, bool trained_on = true);
  void end_document();
  // Ends the shard inside a document, which continues in another shard.
  void break_document();

  // Writes the last block, makes the file durable, renames it, and reads it again to find the
  // places of everything.
  data::Shard finish();

 private:
  class File;
  class Rows;

  void write_block();

  std::filesystem::path directory_;
  std::string name_;
  data::TokenLayout layout_;
  std::unique_ptr<Rows> rows_;
  std::unique_ptr<File> file_;
  std::vector<uint32_t> pack_;  // lengths of sequences to count
  uint64_t tokens_ = 0;
  std::vector<uint64_t> document_ends_;
  uint64_t documents_ = 0;
  bool continues_ = false;  // the open row continues a document
};

}  // namespace shoal::prepare

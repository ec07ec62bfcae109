#include "shoal/data/shards/manifest.h"

#include <algorithm>
#include <limits>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/number_in.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kVersion = 1;
constexpr const char* kFormat = "shoal tokens";
constexpr size_t kMaxManifestBytes = size_t{1} << 30;
// The file of a part: with at most 256 bytes for a block, which has 2^19 tokens or more, 2^41 tokens.
// That is twice the bytes of the largest --part-bytes, when every byte is a document with its end.
constexpr size_t kMaxPartBytes = size_t{1} << 30;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 46;  // so that sums of places cannot overflow
constexpr uint64_t kMaxTokensAll = uint64_t{1} << 60;

// Writing. What is written holds only names and hex digits of our own: no text needs escaping.

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string json_of(const Block& block) {
  return format(
      R"({{"at": {}, "bytes": {}, "crc32c": "{:08x}", "tokens_at": {}, "ends_at": {}, "mask_at": {}, )"
      R"("tokens": {}, "rows": {}, "continues": {}}})",
      block.at, block.bytes, block.crc32c, block.tokens_at, block.ends_at, block.mask_at,
      block.tokens, block.rows, block.continues);
}

std::string json_of(const PackedCounts& packed) {
  std::string counts;
  for (const auto& [length, sequences] : packed)
    counts += format("{}\"{}\": {}", counts.empty() ? "" : ", ", length, sequences);
  return "{" + counts + "}";
}

std::string json_of(const std::optional<Shard>& shard) {
  if (!shard) return "null";
  std::string blocks;
  for (const Block& block : shard->blocks)
    blocks += (blocks.empty() ? "\n    " : ",\n    ") + json_of(block);
  return format(
      R"({{"file": {}, "bytes": {}, "tokens": {}, "documents": {}, "digest": {}, "packed": {}, )"
      R"("blocks": [{}]}})",
      in_quotes(shard->file), shard->bytes, shard->tokens, shard->documents,
      in_quotes(shard->digest), json_of(shard->packed), blocks);
}

std::string json_of(const SplitEntry& split) {
  std::string shards;
  for (const ShardEntry& shard : split.shards) {
    shards += format(
        R"({}    {{"file": {}, "part": {}, "bytes": {}, "tokens": {}, "documents": {}, "digest": {}, )"
        R"("part_digest": {}, "packed": {}}})",
        shards.empty() ? "\n" : ",\n", in_quotes(shard.file), shard.part, shard.bytes, shard.tokens,
        shard.documents, in_quotes(shard.digest), in_quotes(shard.part_digest),
        json_of(shard.packed));
  }
  return format(R"({{"tokens": {}, "documents": {}, "shards": [{}]}})", split.tokens,
                split.documents, shards);
}

// Reading.

uint64_t number_up_to(const json::Fields& fields, const std::string& key, uint64_t most) {
  const uint64_t value = fields.number(key);
  if (value > most)
    throw DataError(format("{}.{} is {}, but at most {}", fields.path(), key, value, most));
  return value;
}

// Letters, digits and what our own names and hashes hold beside them: nothing that JSON escapes.
bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '_' || byte == '.';
  });
}

// Files stand beside the manifest: a name with a path in it would lead a reader elsewhere.
std::string file_name(const json::Fields& fields) {
  std::string name = fields.text("file");
  if (!is_plain(name) || name.front() == '.')
    throw DataError(format("{}.file is '{}', not the name of a file here", fields.path(), name));
  return name;
}

std::string digest(const json::Fields& fields, const std::string& key) {
  std::string text = fields.text(key);
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw DataError(format("{}.{} is not 32 hex digits", fields.path(), key));
  return text;
}

uint32_t checksum(const json::Fields& fields) {
  const std::string text = fields.text("crc32c");
  const auto value = number_in<uint32_t>(text, 16);
  if (text.size() != 8 || !value)
    throw DataError(format("{}.crc32c is '{}', not 8 hex digits", fields.path(), text));
  return *value;
}

PackedCounts packed_from(const json::Fields& parent) {
  const json::Fields fields = parent.object("packed");
  PackedCounts packed;
  for (const std::string& key : fields.keys()) {
    const auto length = number_in<uint32_t>(key);
    if (!length || *length == 0)
      throw DataError(format("{} has the key '{}', which is no length", fields.path(), key));
    packed[*length] = number_up_to(fields, key, kMaxTokensAll);
  }
  return packed;
}

Block block_from(const json::Fields& fields) {
  constexpr uint64_t kMost32 = std::numeric_limits<int32_t>::max();
  Block block;
  block.at = number_up_to(fields, "at", kMaxFileBytes);
  block.bytes = number_up_to(fields, "bytes", kMaxFileBytes);
  block.crc32c = checksum(fields);
  block.tokens_at = number_up_to(fields, "tokens_at", kMaxFileBytes);
  block.ends_at = number_up_to(fields, "ends_at", kMaxFileBytes);
  block.mask_at = number_up_to(fields, "mask_at", kMaxFileBytes);
  block.tokens = static_cast<uint32_t>(number_up_to(fields, "tokens", kMost32));
  block.rows = static_cast<uint32_t>(number_up_to(fields, "rows", kMost32));
  block.continues = fields.flag("continues", false);
  return block;
}

std::optional<Shard> shard_from(const json::Fields& root, const std::string& split) {
  if (!root.find(split)) return std::nullopt;
  const json::Fields fields = root.object(split);
  Shard shard;
  shard.file = file_name(fields);
  shard.bytes = number_up_to(fields, "bytes", kMaxFileBytes);
  shard.tokens = number_up_to(fields, "tokens", kMaxTokensAll);
  shard.documents = number_up_to(fields, "documents", kMaxTokensAll);
  shard.digest = digest(fields, "digest");
  shard.packed = packed_from(fields);
  uint64_t tokens = 0;
  for (const json::element value : fields.list("blocks")) {
    const std::string path = format("{}.blocks[{}]", fields.path(), shard.blocks.size());
    shard.blocks.push_back(block_from(json::Fields(value, path)));
    tokens += shard.blocks.back().tokens;
  }
  if (tokens != shard.tokens)
    throw DataError(
        format("{} has {} tokens, but its blocks have {}", fields.path(), shard.tokens, tokens));
  return shard;
}

SplitEntry split_from(const json::Fields& root, const std::string& name) {
  const json::Fields fields = root.object(name);
  SplitEntry split;
  split.tokens = number_up_to(fields, "tokens", kMaxTokensAll);
  split.documents = number_up_to(fields, "documents", kMaxTokensAll);
  uint64_t tokens = 0;
  for (const json::element value : fields.list("shards")) {
    const json::Fields entry(value, format("{}.shards[{}]", fields.path(), split.shards.size()));
    ShardEntry shard;
    shard.file = file_name(entry);
    shard.part = number_up_to(entry, "part", kMaxTokensAll);
    shard.bytes = number_up_to(entry, "bytes", kMaxFileBytes);
    shard.tokens = number_up_to(entry, "tokens", kMaxTokensAll);
    shard.documents = number_up_to(entry, "documents", kMaxTokensAll);
    shard.digest = digest(entry, "digest");
    shard.part_digest = digest(entry, "part_digest");
    shard.packed = packed_from(entry);
    tokens += shard.tokens;
    if (tokens > split.tokens) break;  // before the sum can overflow
    split.shards.push_back(std::move(shard));
  }
  if (tokens != split.tokens)
    throw DataError(
        format("{}.tokens is {}, which is not the sum of its shards", fields.path(), split.tokens));
  return split;
}

TokenLayout layout_from(const json::Fields& root) {
  TokenLayout layout;
  layout.tokenizer = root.text("tokenizer");
  if (!is_plain(layout.tokenizer))
    throw DataError(format("{}.tokenizer is '{}', no hash", root.path(), layout.tokenizer));
  layout.vocab_size = static_cast<uint32_t>(number_up_to(root, "vocab_size", 1U << 31));
  if (layout.vocab_size == 0) throw DataError(format("{}.vocab_size is 0", root.path()));
  if (root.find("end_of_document")) {
    layout.end_of_document =
        static_cast<uint32_t>(number_up_to(root, "end_of_document", layout.vocab_size - 1U));
  }
  layout.loss_mask = root.flag("loss_mask", false);
  return layout;
}

}  // namespace

std::string_view split_name(Split split) { return split == Split::kTrain ? "train" : "validation"; }

std::string part_file(uint64_t number) { return format("part-{:05}.json", number); }

std::string shard_file(Split split, uint64_t number) {
  return format("{}-{:05}.arrow", split_name(split), number);
}

std::string to_json(const PreparedPart& part) {
  return format(
      "{{\"input_bytes\": {}, \"documents\": {}, \"duplicates\": {},\n  \"train\": {},\n  "
      "\"validation\": {}}}\n",
      part.input_bytes, part.documents, part.duplicates, json_of(part.train),
      json_of(part.validation));
}

PreparedPart part_from_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] {
    const json::Document document(json);
    const json::Fields root(document.root(), "part");
    PreparedPart part;
    part.input_bytes = number_up_to(root, "input_bytes", kMaxTokensAll);
    part.documents = number_up_to(root, "documents", kMaxTokensAll);
    part.duplicates = number_up_to(root, "duplicates", kMaxTokensAll);
    part.train = shard_from(root, "train");
    part.validation = shard_from(root, "validation");
    return part;
  });
}

PartFile read_part(const fs::path& path) {
  const std::string json = read_file(path, kMaxPartBytes);
  return {.part = part_from_json(json, path.string()), .digest = xxh3_128(json).hex()};
}

void ManifestBuilder::add(uint64_t number, const PartFile& file) {
  const PreparedPart& part = file.part;
  manifest_.input_bytes += part.input_bytes;
  manifest_.documents += part.documents;
  manifest_.duplicates += part.duplicates;
  for (const Split split : kSplits) {
    const std::optional<Shard>& shard = part.of(split);
    if (!shard) continue;
    SplitEntry& entry = split == Split::kTrain ? manifest_.train : manifest_.validation;
    entry.tokens += shard->tokens;
    entry.documents += shard->documents;
    entry.shards.push_back({.file = shard->file,
                            .part = number,
                            .bytes = shard->bytes,
                            .tokens = shard->tokens,
                            .documents = shard->documents,
                            .digest = shard->digest,
                            .part_digest = file.digest,
                            .packed = shard->packed});
  }
}

std::string to_json(const Manifest& manifest) {
  const TokenLayout& layout = manifest.layout;
  return format(
      R"({{"format": {}, "version": {},
 "tokenizer": {}, "vocab_size": {}, "end_of_document": {}, "loss_mask": {},
 "input": {{"bytes": {}, "documents": {}, "duplicates": {}}},
 "train": {},
 "validation": {}}}
)",
      in_quotes(kFormat), kVersion, in_quotes(layout.tokenizer), layout.vocab_size,
      layout.end_of_document ? format("{}", *layout.end_of_document) : "null", layout.loss_mask,
      manifest.input_bytes, manifest.documents, manifest.duplicates, json_of(manifest.train),
      json_of(manifest.validation));
}

Manifest manifest_from_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] {
    const json::Document document(json);
    const json::Fields root(document.root(), "manifest");
    if (root.text("format") != kFormat)
      throw DataError("this is no manifest of prepared tokens: make one with `shoal prepare`");
    if (root.number("version") != kVersion)
      throw DataError(format("version {} was written by another shoal; this one knows {}",
                             root.number("version"), kVersion));
    Manifest manifest;
    manifest.layout = layout_from(root);
    const json::Fields input = root.object("input");
    manifest.input_bytes = number_up_to(input, "bytes", kMaxTokensAll);
    manifest.documents = number_up_to(input, "documents", kMaxTokensAll);
    manifest.duplicates = number_up_to(input, "duplicates", kMaxTokensAll);
    manifest.train = split_from(root, "train");
    manifest.validation = split_from(root, "validation");
    manifest.digest = xxh3_128(json).hex();
    return manifest;
  });
}

Manifest read_manifest(const fs::path& directory) {
  const fs::path path = directory / kManifestFile;
  if (!fs::exists(path)) {
    throw DataError(
        format("{} has no {}: it was not made by `shoal prepare`, or that has not "
               "finished; run it again to go on",
               directory.string(), kManifestFile));
  }
  try {
    return manifest_from_json(read_file(path, kMaxManifestBytes), path.string());
  } catch (const DataError& error) {
    throw DataError(
        format("{}: it is damaged, or not of `shoal prepare`; prepare the data again "
               "into another directory",
               error.what()));
  }
}

Shard read_shard_blocks(const fs::path& directory, Split split, const ShardEntry& entry) {
  const fs::path path = directory / part_file(entry.part);
  const PartFile file = read_part(path);
  if (file.digest != entry.part_digest) {
    throw DataError(
        format("{} is not the file that {} was made of: one of them was changed; remove it, and "
               "give the same `shoal prepare` again, which makes both anew",
               path.string(), kManifestFile));
  }
  const std::optional<Shard>& shard = file.part.of(split);
  if (!shard || shard->file != entry.file || shard->bytes != entry.bytes ||
      shard->tokens != entry.tokens)
    throw DataError(format("{} does not describe {}", path.string(), entry.file));
  return *shard;
}

}  // namespace shoal::data

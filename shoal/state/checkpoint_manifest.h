// checkpoint_manifest.h -- what is in a checkpoint and where: logical tensors, each a list of pieces
// that lie in files, and small values beside them.
//
// A tensor has its whole shape here. Who had which part of it in memory is nowhere: any layout can be
// written, and any other read. docs/checkpoint-format.md has the bytes.
//
// A rank tells what it wrote as a PartList; rank 0 joins them and writes the manifest. Everything read
// is checked, a manifest as a whole too: pieces lie in their files without a gap and cover their
// tensors without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/box.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {

// A checksum for so many bytes of a piece: what reads a small part of one checks no more than that.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

struct PieceEntry {
  size_t file = 0;  // in the list of files
  uint64_t at = 0;  // from the start of the file
  Box box;          // never empty
  std::vector<uint32_t> crc32c;

  bool operator==(const PieceEntry&) const = default;
};

struct TensorEntry : TensorSpec {
  std::vector<PieceEntry> pieces;  // none when the tensor has no elements

  bool operator==(const TensorEntry&) const = default;
};

// A safetensors file; its header is there for other programs, pieces are found without it.
struct DataFile {
  std::string name;
  uint64_t bytes = 0;
  uint64_t header_bytes = 0;  // the pieces begin behind
  uint32_t header_crc32c = 0;

  bool operator==(const DataFile&) const = default;
};

struct PartList {
  std::vector<DataFile> files;
  std::vector<TensorEntry> tensors;  // by name

  bool operator==(const PartList&) const = default;
};

// Small state: step, place in the data, seeds, the text of the config. UTF-8.
using Values = std::map<std::string, std::string>;

struct CheckpointManifest {
  uint64_t step = 0;
  Values values;
  PartList parts;

  bool operator==(const CheckpointManifest&) const = default;
};

constexpr const char* kCheckpointManifest = "manifest.json";
constexpr uint64_t kMaxStep = 999'999'999'999'999;

uint64_t piece_bytes(const TensorSpec& tensor, const PieceEntry& piece);

// For sending to rank 0. DataError begins with `name`.
std::string to_json(const PartList& parts);
PartList part_list_from_json(std::string_view json, const std::string& name);

// What several ranks wrote, as one. DataError when they disagree on a tensor.
PartList joined(const std::vector<PartList>& lists);

// DataError when something is missing or there twice.
void check_complete(const PartList& parts);

// The whole file, its own digest included; a manifest that was read is complete.
std::string to_json(const CheckpointManifest& manifest);
CheckpointManifest manifest_from_json(std::string_view json, const std::string& name);

}  // namespace shoal::state

// checkpoint_manifest.h -- the manifest of a checkpoint: logical tensors, the files that hold their
// pieces, and small values.
//
// A tensor has its whole shape here. The layout that wrote it is not recorded: any layout can write
// a checkpoint, and any other read it. The headers of the files say where the pieces lie
// (part_header.h), and the manifest has the digest of each header: it grows with tensors and files,
// not with pieces. docs/checkpoint-format.md has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/core/checksum.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {

// A file of pieces: part_header.h.
struct DataFile {
  std::string name;
  uint64_t bytes = 0;
  uint64_t header_bytes = 0;
  Hash128 header_digest;  // the header has the checksums of the rest

  bool operator==(const DataFile&) const = default;
};

// Small state: place in the data, seeds, the text of the config. UTF-8.
using Values = std::map<std::string, std::string>;

struct CheckpointManifest {
  std::string id;  // 32 hex digits; the data files have it too
  uint64_t step = 0;
  Values values;
  std::vector<DataFile> files;
  std::vector<TensorSpec> tensors;  // by name

  bool operator==(const CheckpointManifest&) const = default;
};

// The format's name in manifests and headers of data files.
constexpr const char* kCheckpointFormat = "shoal checkpoint";
constexpr const char* kCheckpointManifest = "manifest.json";
constexpr uint64_t kMaxStep = 999'999'999'999'999;
constexpr size_t kMaxPartHeaderBytes = size_t{4} << 20;

std::string new_checkpoint_id();

// Both convert the whole file, its own digest included. In a manifest that was read, names are
// unique and sorted.
std::string to_json(const CheckpointManifest& manifest);
CheckpointManifest manifest_from_json(std::string_view json, const std::string& name);

}  // namespace shoal::state

// checkpoint_manifest.h -- what is in a checkpoint: logical tensors, the files in which their pieces lie, and
// small values beside them.
//
// A tensor has its whole shape here. Who had which part of it in memory is nowhere: any layout can be
// written, and any other read. Where the pieces lie is said by the headers of the files (part_header.h), each
// of which has its digest here: the manifest grows with tensors and files, not with pieces.
// docs/checkpoint-format.md has the bytes.
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
  Hash128 header_digest;  // and the header has the checksums of the rest

  bool operator==(const DataFile&) const = default;
};

// Small state: step, place in the data, seeds, the text of the config. UTF-8.
using Values = std::map<std::string, std::string>;

struct CheckpointManifest {
  std::string id;  // 32 hex digits; its files have it too
  uint64_t step = 0;
  Values values;
  std::vector<DataFile> files;
  std::vector<TensorSpec> tensors;  // by name

  bool operator==(const CheckpointManifest&) const = default;
};

// What manifests and the headers of data files call themselves.
constexpr const char* kCheckpointFormat = "shoal checkpoint";
constexpr const char* kCheckpointManifest = "manifest.json";
constexpr uint64_t kMaxStep = 999'999'999'999'999;
constexpr size_t kMaxPartHeaderBytes = size_t{4} << 20;

std::string new_checkpoint_id();

// The whole file, its own digest included. What was read has names once each, in order.
std::string to_json(const CheckpointManifest& manifest);
CheckpointManifest manifest_from_json(std::string_view json, const std::string& name);

}  // namespace shoal::state

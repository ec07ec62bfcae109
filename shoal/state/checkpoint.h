// checkpoint.h -- reads a checkpoint: any part of any tensor, whoever wrote it in whichever pieces.
//
//   const Checkpoint checkpoint("run/checkpoints/step-000000200");
//   checkpoint.values().at("seed");
//   checkpoint.read("model.norm.weight", bytes);                       // all of it
//   checkpoint.read("model.embed.weight", {{0, 64}, {32000, 64}}, bytes);   // these columns
//
// Opening reads the manifest, checks it whole and compares the sizes of the files. Reading checks the
// checksum of every byte that it returns. DataError names the file, the tensor and the place. The
// object is only read: any threads may share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"

namespace shoal::state {

class Checkpoint {
 public:
  explicit Checkpoint(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] uint64_t step() const { return manifest_.step; }
  [[nodiscard]] const Values& values() const { return manifest_.values; }
  [[nodiscard]] const std::vector<TensorEntry>& tensors() const { return manifest_.parts.tensors; }
  [[nodiscard]] const std::vector<DataFile>& files() const { return manifest_.parts.files; }

  // nullptr when there is none of that name.
  [[nodiscard]] const TensorEntry* find(std::string_view name) const;

  // `out` has exactly the bytes of the tensor, or of the box. DataError when there is no such tensor.
  void read(std::string_view name, std::span<std::byte> out) const;
  void read(std::string_view name, const Box& box, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  CheckpointManifest manifest_;
};

struct Verified {
  size_t tensors = 0;
  size_t pieces = 0;
  uint64_t bytes = 0;  // of all files of tensors
};

// Reads every byte of every file. DataError at the first piece that is not what was written.
Verified verify(const std::filesystem::path& path);

}  // namespace shoal::state

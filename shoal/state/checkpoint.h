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
//
// Many ranks that load one checkpoint open it for a share of its files each, read the index of these, and give
// all of them the index of all: then every file is opened and its header read by one rank, and otherwise
// only by those that need its tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/piece_index.h"
#include "shoal/state/progress.h"

namespace shoal::state {

// Every `step`-th file, from `first` on; larger steps where those were more than `most`.
struct FileShare {
  size_t first = 0;
  size_t step = 1;
  size_t most = SIZE_MAX;
};

// Enough to see that a checkpoint is there, however many files it has.
constexpr FileShare kSomeFiles = {.most = 64};

class Checkpoint {
 public:
  explicit Checkpoint(std::filesystem::path path, const FileShare& looked_at = {});
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const CheckpointManifest& manifest() const;
  [[nodiscard]] uint64_t step() const { return manifest().step; }
  [[nodiscard]] const Values& values() const { return manifest().values; }
  [[nodiscard]] const std::vector<TensorSpec>& tensors() const { return manifest().tensors; }
  [[nodiscard]] const std::vector<DataFile>& files() const { return manifest().files; }

  // nullptr when there is none of that name.
  [[nodiscard]] const TensorSpec* find(std::string_view name) const;

  // `out` has exactly the bytes of the tensor, or of the box. DataError when there is no such tensor.
  void read(std::string_view name, std::span<std::byte> out) const;
  void read(std::string_view name, const Box& box, std::span<std::byte> out) const;

  // What the headers of these files say.
  [[nodiscard]] PieceIndex read_index(const FileShare& share) const;
  // From then on read() asks this one, of all files, instead of reading all headers at its first call.
  void use_index(PieceIndex index);
  // The one that read() asks.
  [[nodiscard]] const PieceIndex& index() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Verified {
  size_t tensors = 0;
  size_t pieces = 0;
  uint64_t bytes = 0;  // of all files of tensors
};

// Reads every byte of every file. DataError at the first piece that is not what was written.
Verified verify(const std::filesystem::path& path);
Verified verify(const std::filesystem::path& path, Progress& progress);

}  // namespace shoal::state

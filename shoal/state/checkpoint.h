// checkpoint.h -- reads a checkpoint: any part of any tensor, whichever layout wrote it.
//
//   const Checkpoint checkpoint("run/checkpoints/step-000000200");
//   checkpoint.values().at("seed");
//   checkpoint.read("model.norm.weight", bytes);                       // all of it
//   checkpoint.read("model.embed.weight", {{0, 64}, {32000, 64}}, bytes);   // these columns
//
// Opening reads the manifest, checks it whole and compares the sizes of the files. Reading checks
// the checksum of every byte that it returns. A DataError names the file, the tensor and the place.
// The object is immutable but for use_index(): threads may share it.
//
// When many ranks load one checkpoint, one reads the manifest and sends it to the others. Each opens
// the checkpoint for a share of its files, reads the index of these, and distributes it: then every
// file's header is read by one rank, and otherwise only ranks that need its tensors open the file.
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

// Every `step`-th file, from `first` on; the step is larger if those were more than `most` files.
struct FileShare {
  size_t first = 0;
  size_t step = 1;
  size_t most = SIZE_MAX;
};

// A share that is enough to see that a checkpoint exists, however many files it has.
constexpr FileShare kSomeFiles = {.most = 64};

// The name under which a checkpoint holds a weight of the model.
inline std::string name_in_checkpoint(const std::string& weight) { return "weights." + weight; }

// Returns the manifest of the checkpoint in that directory.
CheckpointManifest read_manifest(const std::filesystem::path& path);

class Checkpoint {
 public:
  explicit Checkpoint(const std::filesystem::path& path, const FileShare& looked_at = {});
  // With a manifest that was read before.
  Checkpoint(std::filesystem::path path,
             CheckpointManifest manifest,
             const FileShare& looked_at = {});
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const CheckpointManifest& manifest() const;
  [[nodiscard]] uint64_t step() const { return manifest().step; }
  [[nodiscard]] const Values& values() const { return manifest().values; }
  [[nodiscard]] const std::vector<TensorSpec>& tensors() const { return manifest().tensors; }
  [[nodiscard]] const std::vector<DataFile>& files() const { return manifest().files; }

  // Returns nullptr when there is no tensor of that name.
  [[nodiscard]] const TensorSpec* find(std::string_view name) const;

  // `out` has exactly the bytes of the tensor, or of the box. Throws DataError when there is no
  // such tensor.
  void read(std::string_view name, std::span<std::byte> out) const;
  void read(std::string_view name, const Box& box, std::span<std::byte> out) const;

  // Returns the index of a share of the files, read from their headers.
  [[nodiscard]] PieceIndex read_index(const FileShare& share) const;
  // Sets the index, of all files, that read() uses, so that it need not read all headers at its
  // first call.
  void use_index(PieceIndex index);
  // Returns the index that read() uses.
  [[nodiscard]] const PieceIndex& index() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Verified {
  size_t tensors = 0;
  size_t pieces = 0;
  uint64_t bytes = 0;  // bytes of all data files
};

// Reads every byte of every file. Throws DataError at the first piece that is not what was written.
Verified verify(const std::filesystem::path& path);
Verified verify(const std::filesystem::path& path, Progress& progress);

}  // namespace shoal::state

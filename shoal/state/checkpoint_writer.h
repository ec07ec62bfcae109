// checkpoint_writer.h -- writes a checkpoint that is there whole or not at all.
//
//   CheckpointWriter writer("run/checkpoints", 200);
//   writer.add({"model.norm.weight", DType::kF32, {4096}, {{0}, {4096}}, bytes});
//   const auto path = writer.commit({{"seed", "7"}});       // run/checkpoints/step-000000200
//
// Several ranks: rank 0 makes the CheckpointWriter and tells the others its directory(); each of
// them writes with a PartWriter and sends its PartList; rank 0 commits them with its own.
//
// Everything goes into a directory with another name, each file is synced, the manifest is written
// last, and then the directory gets its name: a process or machine that dies on the way leaves the
// checkpoints that were there, and a directory that no reader looks at. A checkpoint of the same
// step is replaced. A writer that is not committed removes what it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/output_file.h"

namespace shoal::state {

// A part of a tensor; only looked at while it is added.
struct Piece {
  std::string name;
  DType dtype = DType::kF32;
  Shape global_shape;
  Box box;  // may be empty: then the tensor is known, and nothing is written
  std::span<const std::byte> bytes;
};

std::string step_directory(uint64_t step);  // "step-000000200"

// What one rank writes: files of its own in a directory that is there. A disk that is full is a
// DataError; after one there is no going on.
class PartWriter {
 public:
  PartWriter(std::filesystem::path directory, int rank);

  void add(const Piece& piece);

  // Everything is on the disk.
  PartList finish();

 private:
  void open_file();
  void close_file();
  TensorEntry& entry_of(const Piece& piece);

  std::filesystem::path directory_;
  int rank_;
  std::optional<OutputFile> file_;
  std::vector<TensorSpec> in_file_;  // its pieces, as its header will name them
  size_t header_used_ = 0;
  uint64_t end_ = 0;
  std::vector<DataFile> files_;
  std::map<std::string, TensorEntry> tensors_;
};

class CheckpointWriter {
 public:
  // Creates `root` when it is not there.
  CheckpointWriter(std::filesystem::path root, uint64_t step);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter();

  // Where the other ranks write too, until the commit.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  void add(const Piece& piece) { part_.add(piece); }

  // DataError when the pieces of a tensor do not cover it; then nothing is committed.
  std::filesystem::path commit(const Values& values, std::vector<PartList> others = {});

 private:
  std::filesystem::path root_;
  uint64_t step_;
  std::filesystem::path directory_;
  PartWriter part_;
  bool committed_ = false;
};

}  // namespace shoal::state

// checkpoint_writer.h -- writes a checkpoint atomically.
//
//   CheckpointWriter writer("run/checkpoints", 200, {{"weights.norm", DType::kF32, {4096}, {{0}, {4096}}}});
//   writer.write(bytes);                                    // of each piece, in the order of the list
//   const auto path = writer.commit({{"seed", "7"}});       // run/checkpoints/step-000000200
//
// With several ranks, rank 0 makes an UncommittedCheckpoint and tells the others its directory()
// and id(); each of them writes with a PartWriter and sends its report; rank 0 commits them with
// its own.
//
// Everything is written to a directory with a temporary name, each file is synced, the manifest is
// written last, and then the directory is renamed: a process or machine that dies on the way leaves
// the existing checkpoints, and a directory that no reader looks at. A checkpoint of the same step
// is replaced. What is not committed is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/part_report.h"
#include "shoal/state/part_writer.h"

namespace shoal::state {

std::string step_directory(uint64_t step);  // "step-000000200"

// The suffix of a checkpoint that is being replaced by another one of its step.
constexpr const char* kReplacedMark = "-replaced";

class UncommittedCheckpoint {
 public:
  // Creates `root` if it does not exist.
  UncommittedCheckpoint(std::filesystem::path root, uint64_t step);
  UncommittedCheckpoint(const UncommittedCheckpoint&) = delete;
  UncommittedCheckpoint& operator=(const UncommittedCheckpoint&) = delete;
  ~UncommittedCheckpoint();

  // Returns the directory where all ranks write until the commit.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] const std::string& id() const { return id_; }

  // Commits the checkpoint and returns its path. Throws DataError when the pieces of a tensor do
  // not cover it; then nothing is committed.
  std::filesystem::path commit(const Values& values, const std::vector<PartReport>& reports);

 private:
  std::filesystem::path root_;
  uint64_t step_;
  std::string id_;
  std::filesystem::path directory_;
  bool committed_ = false;
};

// Writes a whole checkpoint from one process.
class CheckpointWriter {
 public:
  CheckpointWriter(std::filesystem::path root, uint64_t step, std::vector<PieceSpec> pieces)
      : checkpoint_(std::move(root), step),
        part_(checkpoint_.directory(), checkpoint_.id(), 0, std::move(pieces)) {}

  void write(std::span<const std::byte> bytes) { part_.write(bytes); }

  std::filesystem::path commit(const Values& values) {
    return checkpoint_.commit(values, {part_.finish()});
  }

 private:
  UncommittedCheckpoint checkpoint_;
  PartWriter part_;
};

}  // namespace shoal::state

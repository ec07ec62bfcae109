// part_writer.h -- writes the data files of one rank.
//
//   PartWriter part(directory, id, rank, {{"weights.a", DType::kF32, {4, 6}, {{0, 3}, {2, 3}}}});
//   part.write(bytes);                          // of each piece, in the order of the list
//   const PartReport report = part.finish();    // everything is on the disk
//
// The pieces are known from the beginning, so a header has exactly its room at the front of its
// file, and only one piece at a time is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/state/output_file.h"
#include "shoal/state/part_header.h"
#include "shoal/state/part_report.h"

namespace shoal::state {

// The size at which a rank begins another file.
constexpr uint64_t kMaxFileBytes = uint64_t{8} << 30;

class PartWriter {
 public:
  // Writes into an existing directory. Throws DataError when the disk is full, here as below; after
  // that the writer cannot be used.
  PartWriter(std::filesystem::path directory,
             std::string id,
             int rank,
             std::vector<PieceSpec> pieces);

  // Writes exactly the bytes of the next piece.
  void write(std::span<const std::byte> bytes);

  // Completes the files, after the last piece.
  PartReport finish();

 private:
  void open_file();
  void close_file();

  std::filesystem::path directory_;
  std::string id_;
  int rank_;
  std::vector<PieceSpec> pieces_;
  size_t next_ = 0;
  std::optional<OutputFile> file_;
  std::vector<PieceInFile> in_file_;
  size_t in_file_done_ = 0;
  PartReport report_;
};

}  // namespace shoal::state

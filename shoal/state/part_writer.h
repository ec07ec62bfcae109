// part_writer.h -- the data files of one rank.
//
//   PartWriter part(directory, id, rank, {{"weights.a", DType::kF32, {4, 6}, {{0, 3}, {2, 3}}}});
//   part.write(bytes);                          // of each piece, in the order of the list
//   const PartReport report = part.finish();    // everything is on the disk
//
// What will be written is known from the beginning, so a header has exactly its room at the front of its file,
// and memory is needed for one piece at a time.
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

// A rank goes on in another file when one has so many bytes.
constexpr uint64_t kMaxFileBytes = uint64_t{8} << 30;

class PartWriter {
 public:
  // Files of this rank in a directory that is there. A disk that is full is a DataError, here as below; after
  // one there is no going on.
  PartWriter(std::filesystem::path directory,
             std::string id,
             int rank,
             std::vector<PieceSpec> pieces);

  // Exactly the bytes of the next piece.
  void write(std::span<const std::byte> bytes);

  // After the last piece.
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

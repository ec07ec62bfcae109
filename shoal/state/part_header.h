// part_header.h -- the header of a checkpoint's data file: which pieces of which tensors lie in it, where,
// and a checksum for each MiB of them.
//
//   {"__metadata__": {"format": "shoal checkpoint", "id": "5f0c...",
//                     "weights.a[0:2,3:6]": "[4, 6] 8a5e11d0"},
//    "weights.a[0:2,3:6]": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// The file is a safetensors file whose tensors are the pieces, named by tensor and box; the metadata has the
// shape of the whole tensor and the checksums. So what a rank wrote is described where it lies, and the
// manifest stays small however many ranks there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/piece.h"

namespace shoal::state {

// A checksum for so many bytes of a piece: what reads a small part of one checks no more than that.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

constexpr uint64_t chunks_of(uint64_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes; }

struct PieceInFile : PieceSpec {
  uint64_t at = 0;  // from the start of the file
  std::vector<uint32_t> crc32c;

  bool operator==(const PieceInFile&) const = default;
};

// As the file names it: "weights.a[0:2,3:6]", or "weights.a" for a whole tensor.
std::string name_in_file(const PieceSpec& piece);

// Whether the piece can be named so that its name is understood: its tensor's has no bracket.
bool can_be_named(const PieceSpec& piece);

// For pieces that lie one after the other behind it. Has the same size whatever the checksums are, a multiple
// of 4096 bytes.
std::string part_header(const std::string& id, const std::vector<PieceInFile>& pieces);

// At most so many bytes of the header are for this piece.
size_t header_share(const PieceSpec& piece);
// What a writer puts into one header; readers take more, see checkpoint_manifest.h.
constexpr size_t kHeaderBudget = size_t{512} << 10;

// Pieces by their place. DataError, beginning with `name`, when it is not the header of a file of `file_bytes`
// bytes of the checkpoint `id`.
std::vector<PieceInFile> read_part_header(std::string_view header,
                                          uint64_t file_bytes,
                                          const std::string& id,
                                          const std::string& name);

}  // namespace shoal::state

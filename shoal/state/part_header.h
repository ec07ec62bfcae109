// part_header.h -- the header of a checkpoint's data file: the pieces of tensors in it, their
// places, and a checksum for each MiB of them.
//
//   {"__metadata__": {"format": "shoal checkpoint", "id": "5f0c...",
//                     "weights.a[0:2,3:6]": "[4, 6] 8a5e11d0"},
//    "weights.a[0:2,3:6]": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// The file is a safetensors file whose tensors are the pieces, named by tensor and box; the
// metadata has the shape of the whole tensor and the checksums. So each file describes itself, and
// the manifest stays small however many ranks there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/piece.h"

namespace shoal::state {

// The bytes of a piece per checksum: reading a small part of a piece checks no more than that.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

constexpr uint64_t chunks_of(uint64_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes; }

struct PieceInFile : PieceSpec {
  uint64_t at = 0;  // offset in the file
  std::vector<uint32_t> crc32c;

  bool operator==(const PieceInFile&) const = default;
};

// Returns the name of a piece in its file: "weights.a[0:2,3:6]", or "weights.a" for a whole tensor.
std::string name_in_file(const PieceSpec& piece);

// Returns whether the name of a piece is unambiguous: the name of its tensor has no bracket.
bool can_be_named(const PieceSpec& piece);

// Returns the header for pieces that follow it one after the other. Its size does not depend on the
// checksums and is a multiple of 4096 bytes.
std::string part_header(const std::string& id, const std::vector<PieceInFile>& pieces);

// Returns the most bytes that this piece takes in the header.
size_t header_share(const PieceSpec& piece);
// The size that writers keep a header to; readers accept more, see checkpoint_manifest.h.
constexpr size_t kHeaderBudget = size_t{512} << 10;

// Returns the pieces by their place. Throws DataError, beginning with `name`, unless it is the
// header of a file of `file_bytes` bytes of the checkpoint `id`.
std::vector<PieceInFile> read_part_header(std::string_view header,
                                          uint64_t file_bytes,
                                          const std::string& id,
                                          const std::string& name);

}  // namespace shoal::state

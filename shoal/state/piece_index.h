// piece_index.h -- the places of the pieces of a checkpoint's tensors, for all its files or some of
// them: the content of their headers in little memory, found by tensor and box.
//
//   PieceIndex index(manifest);
//   index.add_file(0, header, "rank-00000-00000.safetensors");
//   index.sort();
//   index.for_each(tensor, box, [&](const PieceIndex::Place& place, const Box& piece) { ... });
//
// At 405B parameters on 16,384 ranks there are two million pieces. Ranks that load such a
// checkpoint read the headers of some files each and exchange packed() indices: every header is
// read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/part_header.h"

namespace shoal::state {

class PieceIndex {
 public:
  struct Place {
    uint32_t file = 0;
    uint64_t at = 0;  // offset in the file
    std::span<const uint32_t> crc32c;
  };

  // `manifest` must outlive the index.
  explicit PieceIndex(const CheckpointManifest& manifest);

  // Adds the pieces of a file. Throws DataError when the header does not match the manifest, or its
  // pieces are of other tensors.
  void add_file(size_t file, std::string_view header, const std::string& name);
  // Adds the pieces of another index.
  void add(const PieceIndex& other);

  // Serialize the index for other processes, and add theirs. Throws DataError when it does not fit
  // the manifest.
  [[nodiscard]] std::string packed() const;
  void add_packed(std::string_view text);

  [[nodiscard]] size_t pieces() const;

  // Called after the last add, before for_each(), which any thread may then call.
  void sort();

  using Visit = std::function<void(const Place& place, const Box& piece)>;
  // Visit the pieces of a tensor that have elements in the box, or all of them.
  void for_each(size_t tensor, const Box& box, const Visit& visit) const;
  void for_each(size_t tensor, const Visit& visit) const;

 private:
  struct Entry {
    uint64_t at = 0;
    uint32_t file = 0;
    size_t box = 0;   // index in numbers_: begin and extent of each dimension
    size_t sums = 0;  // index in sums_
  };
  struct Entries {
    std::vector<Entry> all;  // sorted by where the first dimension begins
    int64_t longest = 0;     // longest extent in the first dimension
  };

  void add_piece(size_t tensor,
                 uint32_t file,
                 uint64_t at,
                 std::span<const int64_t> box,
                 std::span<const uint32_t> sums);
  [[nodiscard]] Box box_of(size_t tensor, const Entry& entry) const;
  [[nodiscard]] Place place_of(size_t tensor, const Entry& entry) const;

  const CheckpointManifest* manifest_;
  std::vector<Entries> tensors_;
  std::vector<int64_t> numbers_;
  std::vector<uint32_t> sums_;
  bool sorted_ = true;
};

}  // namespace shoal::state

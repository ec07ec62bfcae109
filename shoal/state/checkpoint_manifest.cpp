#include "shoal/state/checkpoint_manifest.h"

#include <algorithm>
#include <set>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"

namespace shoal::state {
namespace {

// The pieces of each file, by their place in it, fill it from its header to its end.
void check_files(const PartList& parts) {
  struct Place {
    uint64_t at;
    uint64_t bytes;
  };
  std::vector<std::vector<Place>> places(parts.files.size());
  for (const TensorEntry& tensor : parts.tensors) {
    for (const PieceEntry& piece : tensor.pieces)
      places.at(piece.file).push_back({piece.at, piece_bytes(tensor, piece)});
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < parts.files.size(); ++i) {
    const DataFile& file = parts.files[i];
    if (!names.insert(file.name).second)
      throw DataError(format("the file {} is listed twice", file.name));
    std::sort(places[i].begin(), places[i].end(),
              [](const Place& a, const Place& b) { return a.at < b.at; });
    uint64_t end = file.header_bytes;
    for (const Place& place : places[i]) {
      if (place.at != end)
        throw DataError(format("a piece in {} begins at {}, but the one before ends at {}",
                               file.name, place.at, end));
      end += place.bytes;
    }
    if (end != file.bytes)
      throw DataError(
          format("the pieces in {} end at {}, but it has {} bytes", file.name, end, file.bytes));
  }
}

}  // namespace

uint64_t piece_bytes(const TensorSpec& tensor, const PieceEntry& piece) {
  return elements_of(piece.box) * element_bytes(tensor.dtype);
}

PartList joined(const std::vector<PartList>& lists) {
  PartList all;
  std::map<std::string, TensorEntry> tensors;
  for (const PartList& list : lists) {
    const size_t first_file = all.files.size();
    all.files.insert(all.files.end(), list.files.begin(), list.files.end());
    for (const TensorEntry& tensor : list.tensors) {
      TensorEntry& entry = tensors.try_emplace(tensor.name, TensorEntry{tensor, {}}).first->second;
      if (TensorSpec(entry) != TensorSpec(tensor))
        throw DataError(format("tensor {} is {} {} for one rank and {} {} for another",
                               json::in_quotes(tensor.name), dtype_name(entry.dtype),
                               describe(entry.shape), dtype_name(tensor.dtype),
                               describe(tensor.shape)));
      for (PieceEntry piece : tensor.pieces) {
        piece.file += first_file;
        entry.pieces.push_back(std::move(piece));
      }
    }
  }
  for (auto& [name, tensor] : tensors) all.tensors.push_back(std::move(tensor));
  return all;
}

void check_complete(const PartList& parts) {
  check_files(parts);
  for (const TensorEntry& tensor : parts.tensors) {
    std::vector<Box> boxes;
    for (const PieceEntry& piece : tensor.pieces) boxes.push_back(piece.box);
    if (!tiles(tensor.shape, boxes))
      throw DataError(format("the {} pieces of tensor {} do not cover its shape {} exactly once",
                             boxes.size(), json::in_quotes(tensor.name), describe(tensor.shape)));
  }
}

}  // namespace shoal::state

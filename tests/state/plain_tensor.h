// plain_tensor.h -- a whole tensor in memory, and its parts taken element by element: what pieces and
// boxes on disk are compared with.
#pragma once

#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "shoal/core/box.h"
#include "shoal/state/checkpoint_writer.h"

namespace shoal::state {

using Random = std::mt19937_64;

inline int64_t below(Random& random, int64_t end) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
}

struct PlainTensor {
  TensorSpec spec;
  std::vector<std::byte> bytes;

  PlainTensor(TensorSpec what, Random& random)
      : spec(std::move(what)), bytes(tensor_bytes(spec.dtype, spec.shape)) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }

  [[nodiscard]] std::vector<std::byte> part(const Box& box) const {
    const uint64_t size = element_bytes(spec.dtype);
    const uint64_t count = elements_of(box);
    std::vector<std::byte> result;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t rest = i;
      uint64_t place = 0;
      uint64_t stride = 1;
      for (size_t dim = spec.shape.size(); dim-- > 0;) {
        const auto extent = static_cast<uint64_t>(box.extent[dim]);
        place += stride * (static_cast<uint64_t>(box.begin[dim]) + rest % extent);
        rest /= extent;
        stride *= static_cast<uint64_t>(spec.shape[dim]);
      }
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(place * size);
      result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(size));
    }
    return result;
  }
};

// Any part, empty ones too.
inline Box some_box(const Shape& shape, Random& random) {
  Box box;
  for (const int64_t size : shape) {
    box.begin.push_back(below(random, size + 1));
    box.extent.push_back(below(random, size - box.begin.back() + 1));
  }
  return box;
}

// Cut at random places along random dimensions, `cuts` times; now and then an empty part.
inline std::vector<Box> some_cuts(const Shape& shape, int cuts, Random& random) {
  std::vector<Box> boxes = {whole_of(shape)};
  for (int i = 0; i < cuts && !shape.empty(); ++i) {
    Box& whole = boxes[static_cast<size_t>(below(random, static_cast<int64_t>(boxes.size())))];
    const auto dim = static_cast<size_t>(below(random, static_cast<int64_t>(shape.size())));
    const int64_t first = below(random, whole.extent[dim] + 1);
    Box rest = whole;
    rest.begin[dim] += first;
    rest.extent[dim] -= first;
    whole.extent[dim] = first;
    boxes.push_back(rest);
  }
  return boxes;
}

// A piece with its bytes.
struct Piece {
  PieceSpec spec;
  std::vector<std::byte> bytes;
};

inline Piece piece_of(const PlainTensor& tensor, const Box& box) {
  return {{tensor.spec, box}, tensor.part(box)};
}

inline Piece whole_piece(const PlainTensor& tensor) {
  return {{tensor.spec, whole_of(tensor.spec.shape)}, tensor.bytes};
}

inline std::vector<PieceSpec> specs_of(const std::vector<Piece>& pieces) {
  std::vector<PieceSpec> specs;
  for (const Piece& piece : pieces) specs.push_back(piece.spec);
  return specs;
}

inline PartReport write_part(const UncommittedCheckpoint& checkpoint,
                             int rank,
                             const std::vector<Piece>& pieces) {
  PartWriter writer(checkpoint.directory(), checkpoint.id(), rank, specs_of(pieces));
  for (const Piece& piece : pieces) writer.write(piece.bytes);
  return writer.finish();
}

// Written by as many ranks as there are lists.
inline std::filesystem::path save_pieces(const std::filesystem::path& root,
                                         uint64_t step,
                                         const std::vector<std::vector<Piece>>& ranks,
                                         const Values& values = {}) {
  UncommittedCheckpoint checkpoint(root, step);
  std::vector<PartReport> reports;
  for (const std::vector<Piece>& pieces : ranks)
    reports.push_back(write_part(checkpoint, static_cast<int>(reports.size()), pieces));
  return checkpoint.commit(values, reports);
}

}  // namespace shoal::state

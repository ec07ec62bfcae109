// write_checkpoint.h -- a checkpoint of plain tensors, each cut at random into pieces of three ranks.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/state/plain_tensor.h"

namespace shoal::state {

inline std::filesystem::path write_checkpoint(const std::filesystem::path& root,
                                              uint64_t step,
                                              const std::vector<PlainTensor>& tensors,
                                              const Values& values,
                                              Random& random) {
  std::vector<std::vector<Piece>> ranks(3);
  for (const PlainTensor& tensor : tensors) {
    // A tensor without elements is one piece, of the others none is empty.
    const int cuts = tensor.bytes.empty() ? 0 : static_cast<int>(random() % 5);
    for (const Box& box : some_cuts(tensor.spec.shape, cuts, random)) {
      if (cuts == 0 || elements_of(box) > 0)
        ranks[random() % ranks.size()].push_back(piece_of(tensor, box));
    }
  }
  return save_pieces(root, step, ranks, values);
}

}  // namespace shoal::state

// staged_part.h -- a copy in host memory of what this rank writes: training goes on with the
// tensors while the copy is written.
//
//   StagedPart part;
//   part.take(written_by(state));       // the only thing that a step waits for
//   part.specs(), part.bytes(i)         // for state::PartWriter, from any thread
//
// The memory is kept from one save to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/checkpoint/held_tensors.h"
#include "shoal/state/piece.h"

namespace shoal::checkpoint {

class StagedPart {
 public:
  // Allocates memory for `tensors` and touches its pages, so that the first copy does not wait for
  // them.
  void reserve(const std::vector<HeldTensor>& tensors);

  void take(const std::vector<HeldTensor>& tensors);

  [[nodiscard]] const std::vector<state::PieceSpec>& specs() const { return specs_; }
  [[nodiscard]] std::span<const std::byte> bytes(size_t piece) const;
  [[nodiscard]] uint64_t all_bytes() const;

 private:
  at::Tensor memory_;
  std::vector<state::PieceSpec> specs_;
  std::vector<uint64_t> offsets_;  // of each piece in memory_
};

}  // namespace shoal::checkpoint

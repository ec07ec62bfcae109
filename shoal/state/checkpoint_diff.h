// checkpoint_diff.h -- the differences between two checkpoints.
//
//   const CheckpointDifference found = diff(Checkpoint(a), Checkpoint(b), {.only = "weights."}, progress);
//   found.tensors.front().largest->by
//
// The layouts that wrote them do not matter. Elements differ when their bits do: a NaN is equal to
// the same NaN, and 0 is not -0. Tensors are read a block at a time, so memory does not grow with
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/state/checkpoint.h"
#include "shoal/state/progress.h"

namespace shoal::state {

struct ValueDifference {
  std::string key;
  std::optional<std::string> first;  // nothing: only the other has it
  std::optional<std::string> second;
};

// The first of the elements with the largest difference.
struct LargestDifference {
  double by = 0;  // NaN if one of the two is NaN, which counts as the largest difference
  Shape at;
  double first = 0;
  double second = 0;
};

struct TensorDifference {
  std::optional<TensorSpec> first;  // nothing: only the other has it
  std::optional<TensorSpec> second;
  // These are set if both have the same type and shape.
  uint64_t elements = 0;
  uint64_t differing = 0;
  // Absent for 8-bit floats and complex numbers.
  std::optional<LargestDifference> largest = std::nullopt;

  [[nodiscard]] const std::string& name() const { return first ? first->name : second->name; }
};

struct CheckpointDifference {
  std::vector<ValueDifference> values;    // by key; the step is one of them
  std::vector<TensorDifference> tensors;  // by name
  size_t compared = 0;                    // tensors that both have
};

struct DiffOptions {
  std::string only = "";               // if given, only tensors whose names begin so, and no values
  uint64_t block = uint64_t{2} << 20;  // elements of each tensor in memory at a time
};

// Compares two checkpoints. Throws DataError when a file of either is not what was written.
CheckpointDifference diff(const Checkpoint& first,
                          const Checkpoint& second,
                          const DiffOptions& options,
                          Progress& progress);

}  // namespace shoal::state

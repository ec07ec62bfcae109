// tensor_rows.h -- gathers and sums the rows of a batch, which are split over the ranks of a group.
//
//   TensorRows rows(group);
//   Arriving all = rows.gather(x, count, "input of blocks.3.mlp.up");    // from P x n to count x n
//   ...                                                                  // overlap
//   product(all.wait())
//
// Rank r has rows [r * P, (r + 1) * P) of `count`, where P = ceil(count / ranks). Rows after the
// last one are padding. They hold copies of the last row, so that layers compute ordinary values
// from them, and their gradient is zero, so that these values never matter.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "shoal/comm/group.h"

namespace shoal::parallel {

// A tensor that is still arriving from other ranks.
class Arriving {
 public:
  Arriving(at::Tensor tensor, comm::Pending pending)
      : tensor_(std::move(tensor)), pending_(std::move(pending)) {}

  at::Tensor wait() {
    pending_.wait();
    return tensor_;
  }

 private:
  at::Tensor tensor_;
  comm::Pending pending_;
};

enum class Padding { kLastRow, kZeros };

class TensorRows {
 public:
  explicit TensorRows(comm::Group group) : group_(std::move(group)) {}

  [[nodiscard]] const comm::Group& group() const { return group_; }
  [[nodiscard]] comm::Group& group() { return group_; }

  [[nodiscard]] int64_t per_rank(int64_t count) const;
  [[nodiscard]] int64_t first(int64_t count) const { return group_.rank() * per_rank(count); }

  // Returns this rank's rows of a tensor that every rank has whole, with one row for each of the
  // batch.
  [[nodiscard]] at::Tensor own(const at::Tensor& all) const;

  // Returns all rows of all ranks, without padding.
  Arriving gather(const at::Tensor& own, int64_t count, const std::string& what);

  // room() returns memory for all rows, whose first `count` rows the caller writes. sum()
  // reduce-scatters it: this rank's rows of the sum arrive.
  [[nodiscard]] at::Tensor room(int64_t count,
                                int64_t columns,
                                const at::TensorOptions& options) const;
  Arriving sum(const at::Tensor& room, int64_t count, Padding padding, const std::string& what);

 private:
  comm::Group group_;
};

}  // namespace shoal::parallel

// collectives.h -- MPI's blocking collectives for tensors of any length. Private to comm/mpi/.
//
// MPI counts in int. Calls on more elements than `max_count` per rank are split, with datatypes
// that reach over the gaps where the parts of several ranks lie side by side.
#pragma once

#include <cstdint>
#include <vector>

#include <mpi.h>

#include <ATen/core/Tensor.h>

#include "shoal/comm/call.h"

namespace shoal::comm {

MPI_Datatype mpi_type_of(const at::Tensor& tensor);

class MpiCollectives {
 public:
  MpiCollectives(MPI_Comm communicator, int max_count);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int max_count() const { return static_cast<int>(max_count_); }

  void all_reduce(const at::Tensor& inout, Reduce op) const;
  void reduce(const at::Tensor& inout, Reduce op, int root) const;
  void broadcast(const at::Tensor& inout, int root) const;
  void all_gather(const at::Tensor& out, const at::Tensor& shard) const;
  void gather(const at::Tensor& out, const at::Tensor& shard, int root) const;  // out: root only
  void scatter(const at::Tensor& shard, const at::Tensor& in, int root) const;  // in: root only
  void reduce_scatter(const at::Tensor& shard, const at::Tensor& in, Reduce op) const;
  void all_to_all(const at::Tensor& out,
                  const at::Tensor& in,
                  const std::vector<int64_t>& out_counts,
                  const std::vector<int64_t>& in_counts) const;
  void barrier() const;

 private:
  MPI_Comm communicator_;
  int64_t max_count_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace shoal::comm

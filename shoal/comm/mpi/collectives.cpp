#include "shoal/comm/mpi/collectives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include <ATen/ops/empty_like.h>

#include "shoal/comm/accumulate.h"
#include "shoal/comm/mpi/session.h"
#include "shoal/comm/reduction.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

template <Element kType, Reduce kOp>
void combine_narrow(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  accumulate(kType, kOp, inout, in, *count);
}

MPI_Op make_op(MPI_User_function* function) {
  MPI_Op op = MPI_OP_NULL;
  check_mpi(MPI_Op_create(function, /*commute=*/1, &op), "MPI_Op_create");
  return op;
}

// MPI has no numbers of 16 bits: its ops for them are ours, made at the first use and kept for the life of the
// process.
template <Element kType>
MPI_Op narrow_op(Reduce op) {
  static const MPI_Op sum = make_op(&combine_narrow<kType, Reduce::kSum>);
  static const MPI_Op min = make_op(&combine_narrow<kType, Reduce::kMin>);
  static const MPI_Op max = make_op(&combine_narrow<kType, Reduce::kMax>);
  if (op == Reduce::kMin) return min;
  return op == Reduce::kMax ? max : sum;
}

MPI_Op mpi_op_of(const at::Tensor& tensor, Reduce op) {
  if (tensor.scalar_type() == at::kBFloat16) return narrow_op<Element::kBFloat16>(op);
  if (tensor.scalar_type() == at::kHalf) return narrow_op<Element::kHalf>(op);
  if (op == Reduce::kMin) return MPI_MIN;
  return op == Reduce::kMax ? MPI_MAX : MPI_SUM;
}

char* address(const at::Tensor& tensor, int64_t element) {
  return static_cast<char*>(tensor.data_ptr()) + element * tensor.element_size();
}

void finish_average(const at::Tensor& tensor, Reduce op, int size) {
  if (op == Reduce::kAvg) divide(element_of(tensor), tensor.data_ptr(), size, tensor.numel());
}

// `count` elements of each rank's part, where the parts lie `stride` elements apart.
class StridedPart {
 public:
  StridedPart(const at::Tensor& tensor, int64_t count, int64_t stride) {
    MPI_Datatype contiguous = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(static_cast<int>(count), mpi_type_of(tensor), &contiguous),
              "MPI_Type_contiguous");
    const auto extent = static_cast<MPI_Aint>(stride * tensor.element_size());
    check_mpi(MPI_Type_create_resized(contiguous, 0, extent, &type_), "MPI_Type_create_resized");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&contiguous);
  }

  StridedPart(const StridedPart&) = delete;
  StridedPart& operator=(const StridedPart&) = delete;
  ~StridedPart() { MPI_Type_free(&type_); }

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// Calls body(first, count) for pieces of at most `limit` that make up `total`.
template <class Body>
void for_each_piece(int64_t total, int64_t limit, Body body) {
  for (int64_t first = 0; first < total; first += limit)
    body(first, static_cast<int>(std::min(limit, total - first)));
}

}  // namespace

MPI_Datatype mpi_type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return MPI_DOUBLE;
    case at::kFloat:
      return MPI_FLOAT;
    case at::kBFloat16:
    case at::kHalf:
      return MPI_UINT16_T;
    case at::kLong:
      return MPI_INT64_T;
    case at::kByte:
      return MPI_BYTE;
    default:
      throw BugError(format("MPI cannot send {}", c10::toString(tensor.scalar_type())));
  }
}

MpiCollectives::MpiCollectives(MPI_Comm communicator, int max_count)
    : communicator_(communicator), max_count_(max_count) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
}

void MpiCollectives::all_reduce(const at::Tensor& inout, Reduce op) const {
  for_each_piece(inout.numel(), max_count_, [&](int64_t first, int count) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, address(inout, first), count, mpi_type_of(inout),
                            mpi_op_of(inout, op), communicator_),
              "MPI_Allreduce");
  });
  finish_average(inout, op, size_);
}

void MpiCollectives::reduce(const at::Tensor& inout, Reduce op, int root) const {
  for_each_piece(inout.numel(), max_count_, [&](int64_t first, int count) {
    char* data = address(inout, first);
    check_mpi(MPI_Reduce(rank_ == root ? MPI_IN_PLACE : data, data, count, mpi_type_of(inout),
                         mpi_op_of(inout, op), root, communicator_),
              "MPI_Reduce");
  });
  if (rank_ == root) finish_average(inout, op, size_);
}

void MpiCollectives::broadcast(const at::Tensor& inout, int root) const {
  for_each_piece(inout.numel(), max_count_, [&](int64_t first, int count) {
    check_mpi(MPI_Bcast(address(inout, first), count, mpi_type_of(inout), root, communicator_),
              "MPI_Bcast");
  });
}

void MpiCollectives::all_gather(const at::Tensor& out, const at::Tensor& shard) const {
  const int64_t part = shard.numel();
  const bool in_place = shard.data_ptr() == address(out, rank_ * part);
  for_each_piece(part, max_count_, [&](int64_t first, int count) {
    const StridedPart strided(out, count, part);
    check_mpi(
        MPI_Allgather(in_place ? MPI_IN_PLACE : address(shard, first), count, mpi_type_of(shard),
                      address(out, first), 1, strided.get(), communicator_),
        "MPI_Allgather");
  });
}

void MpiCollectives::gather(const at::Tensor& out, const at::Tensor& shard, int root) const {
  const int64_t part = shard.numel();
  for_each_piece(part, max_count_, [&](int64_t first, int count) {
    const StridedPart strided(shard, count, part);
    check_mpi(MPI_Gather(address(shard, first), count, mpi_type_of(shard),
                         rank_ == root ? address(out, first) : nullptr, 1, strided.get(), root,
                         communicator_),
              "MPI_Gather");
  });
}

void MpiCollectives::scatter(const at::Tensor& shard, const at::Tensor& in, int root) const {
  const int64_t part = shard.numel();
  for_each_piece(part, max_count_, [&](int64_t first, int count) {
    const StridedPart strided(shard, count, part);
    check_mpi(MPI_Scatter(rank_ == root ? address(in, first) : nullptr, 1, strided.get(),
                          address(shard, first), count, mpi_type_of(shard), root, communicator_),
              "MPI_Scatter");
  });
}

void MpiCollectives::reduce_scatter(const at::Tensor& shard,
                                    const at::Tensor& in,
                                    Reduce op) const {
  const int64_t part = shard.numel();
  // What decides must be the same on every rank: not, for instance, whether the shard lies in `in`.
  const bool whole = part <= max_count_ / size_;
  if (whole) {
    const bool overlaps = shard.is_alias_of(in);
    const at::Tensor result = overlaps ? at::empty_like(shard) : shard;
    check_mpi(MPI_Reduce_scatter_block(in.data_ptr(), result.data_ptr(), static_cast<int>(part),
                                       mpi_type_of(in), mpi_op_of(in, op), communicator_),
              "MPI_Reduce_scatter_block");
    if (overlaps) std::memcpy(shard.data_ptr(), result.data_ptr(), shard.nbytes());
  } else {
    // Reductions take no strided types: each piece of every rank's part is packed first. A million
    // elements keep the packed copy small.
    const int64_t limit = std::clamp<int64_t>(max_count_ / size_, 1, 1 << 20);
    std::vector<char> packed(
        static_cast<size_t>(std::min(limit, part) * size_ * in.element_size()));
    std::vector<char> result(static_cast<size_t>(std::min(limit, part) * in.element_size()));
    for_each_piece(part, limit, [&](int64_t first, int count) {
      const auto bytes = static_cast<size_t>(count * in.element_size());
      for (int rank = 0; rank < size_; ++rank) {
        std::memcpy(packed.data() + static_cast<size_t>(rank) * bytes,
                    address(in, rank * part + first), bytes);
      }
      check_mpi(MPI_Reduce_scatter_block(packed.data(), result.data(), count, mpi_type_of(in),
                                         mpi_op_of(in, op), communicator_),
                "MPI_Reduce_scatter_block");
      std::memcpy(address(shard, first), result.data(), bytes);
    });
  }
  finish_average(shard, op, size_);
}

void MpiCollectives::all_to_all(const at::Tensor& out,
                                const at::Tensor& in,
                                const std::vector<int64_t>& out_counts,
                                const std::vector<int64_t>& in_counts) const {
  int64_t out_first = 0;
  int64_t in_first = 0;
  std::vector<int64_t> out_offsets;
  std::vector<int64_t> in_offsets;
  for (int rank = 0; rank < size_; ++rank) {
    out_offsets.push_back(out_first);
    in_offsets.push_back(in_first);
    out_first += out_counts[static_cast<size_t>(rank)];
    in_first += in_counts[static_cast<size_t>(rank)];
  }
  // Sizes differ by rank, so whether a call must be split would have to be agreed on; a pairwise
  // exchange needs no agreement: at every step each rank sends to one peer and hears from another,
  // each in as many pieces as it takes.
  for (int step = 0; step < size_; ++step) {
    const auto to = static_cast<size_t>((rank_ + step) % size_);
    const auto from = static_cast<size_t>((rank_ - step + size_) % size_);
    std::vector<MPI_Request> requests;
    for_each_piece(out_counts[from], max_count_, [&](int64_t first, int count) {
      requests.emplace_back();
      check_mpi(MPI_Irecv(address(out, out_offsets[from] + first), count, mpi_type_of(out),
                          static_cast<int>(from), step, communicator_, &requests.back()),
                "MPI_Irecv");
    });
    for_each_piece(in_counts[to], max_count_, [&](int64_t first, int count) {
      requests.emplace_back();
      check_mpi(MPI_Isend(address(in, in_offsets[to] + first), count, mpi_type_of(in),
                          static_cast<int>(to), step, communicator_, &requests.back()),
                "MPI_Isend");
    });
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
  }
}

void MpiCollectives::barrier() const { check_mpi(MPI_Barrier(communicator_), "MPI_Barrier"); }

}  // namespace shoal::comm

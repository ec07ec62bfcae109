#include "shoal/parallel/whole_matrices.h"

#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "shoal/model/weights.h"

namespace shoal::parallel {
namespace {

using plan::MatrixPart;
using plan::MatrixRound;
using plan::WholeMatrix;
using Transfer = comm::Group::Transfer;

constexpr int kTag = 0;  // two ranks send each other at most one part in a round

// The matrix that this rank assembles in a round, from the tensor-parallel parts and their shards.
class Assembled {
 public:
  Assembled(const WholeMatrix& matrix, const at::TensorOptions& options) : matrix_(matrix) {
    for (const std::vector<Box>& boxes : matrix.boxes) {
      uint64_t elements = 0;
      for (const Box& box : boxes) elements += elements_of(box);
      places_.push_back(at::empty({static_cast<int64_t>(elements)}, options));
    }
  }

  [[nodiscard]] at::Tensor part(const MatrixPart& part) const {
    return places_[static_cast<size_t>(part.place)].narrow(0, part.first, part.count);
  }

  void orthogonalize(const optim::MatrixUpdate& update) {
    const at::Tensor whole = at::empty({matrix_.rows, matrix_.columns}, places_.front().options());
    for_each_box(whole, [](const at::Tensor& box, const at::Tensor& held) { box.copy_(held); });
    for_each_box(update.orthogonalized(whole),
                 [](const at::Tensor& box, const at::Tensor& held) { held.copy_(box); });
  }

 private:
  template <class Copy>
  void for_each_box(const at::Tensor& whole, const Copy& copy) const {
    for (size_t place = 0; place < places_.size(); ++place) {
      int64_t begin = 0;
      for (const Box& box : matrix_.boxes[place]) {
        const at::Tensor inside = model::in_box(whole, box);
        copy(inside, places_[place].narrow(0, begin, inside.numel()).view_as(inside));
        begin += inside.numel();
      }
    }
  }

  const WholeMatrix& matrix_;
  std::vector<at::Tensor> places_;
};

// A part of a matrix that this rank holds, or that this rank assembles, or both.
struct Way {
  at::Tensor held;
  at::Tensor assembled;
  int peer = 0;  // the other rank
};

void copy_along(const Way& way, bool there) {
  there ? way.assembled.copy_(way.held) : way.held.copy_(way.assembled);
}

// Sends all parts to the ranks that orthogonalize, or back.
void move(comm::Group& ranks, const std::vector<Way>& ways, bool there, const char* what) {
  std::vector<Transfer> transfers;
  for (const Way& way : ways) {
    if (way.held.defined() && way.assembled.defined()) {
      copy_along(way, there);
      continue;
    }
    const bool sends = way.held.defined() == there;
    transfers.push_back({sends ? Transfer::Way::kSend : Transfer::Way::kRecv,
                         way.held.defined() ? way.held : way.assembled, way.peer, kTag});
  }
  ranks.exchange(transfers, what).wait();
}

}  // namespace

void exchange_matrices(comm::Group& ranks,
                       const plan::RankPlan& plan,
                       size_t number,
                       optim::MatrixUpdate& update) {
  const at::NoGradGuard no_grad;
  const MatrixRound& round = plan.matrices[number];
  const int self = ranks.rank();
  std::optional<Assembled> mine;
  if (static_cast<size_t>(self) < round.size())
    mine.emplace(round[static_cast<size_t>(self)], update.tensor_options());
  std::vector<Way> ways;
  std::vector<std::pair<optim::MatrixPiece, at::Tensor>> held;
  for (int owner = 0; owner < static_cast<int>(round.size()); ++owner) {
    const WholeMatrix& matrix = round[static_cast<size_t>(owner)];
    for (const MatrixPart& part : matrix.parts) {
      Way way;
      if (part.rank == self) {
        const optim::MatrixPiece piece{.unit = plan.group_number(matrix.chunk, matrix.group),
                                       .offset = part.offset,
                                       .count = part.count};
        way.held = update.momentum_of(piece);
        way.peer = owner;
        held.emplace_back(piece, way.held);
      }
      if (owner == self) {
        way.assembled = mine->part(part);
        way.peer = part.rank;
      }
      if (way.held.defined() || way.assembled.defined()) ways.push_back(std::move(way));
    }
  }
  move(ranks, ways, /*there=*/true, "parts of matrices");
  if (mine) mine->orthogonalize(update);
  move(ranks, ways, /*there=*/false, "parts of matrices, orthogonalized");
  for (const auto& [piece, change] : held) update.apply(piece, change);
}

}  // namespace shoal::parallel

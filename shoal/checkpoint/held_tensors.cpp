#include "shoal/checkpoint/held_tensors.h"

#include <algorithm>
#include <map>
#include <optional>

#include <ATen/ATen.h>

#include "shoal/core/even_parts.h"
#include "shoal/state/hugging_face/weights.h"

namespace shoal::checkpoint {
namespace {

using optim::NamedTensor;
using parallel::HeldPiece;
using parallel::Piece;

HeldTensor held(std::string name, const at::Tensor& flat, const Piece& piece) {
  return {std::move(name), piece.weight->shape, flat.narrow(0, piece.offset, piece.count),
          boxes_of_range(piece.weight->parts, piece.first, piece.count)};
}

HeldTensor whole(const NamedTensor& named) {
  const Shape shape = named.tensor.sizes().vec();
  return {named.name,
          shape,
          named.tensor,
          {{whole_of(shape), 0, static_cast<int64_t>(named.tensor.numel())}}};
}

std::vector<NamedTensor> small_tensors(const TrainingState& state) {
  std::vector<NamedTensor> tensors = state.optimizer.other_state();
  tensors.insert(tensors.end(), state.others.begin(), state.others.end());
  return tensors;
}

// All tensors that are divided among ranks, of the pieces that `choose` leaves, cut as it says.
template <class Choose>
std::vector<HeldTensor> divided_tensors(const TrainingState& state, Choose&& choose) {
  std::map<std::string, optim::UnitState> units;
  for (optim::UnitState& unit : state.optimizer.unit_states())
    units.emplace(unit.name, std::move(unit));
  std::vector<HeldTensor> tensors;
  for (const HeldPiece& held_piece : state.model.pieces()) {
    const std::optional<Piece> piece = choose(held_piece);
    if (!piece) continue;
    const optim::UnitState& unit = units.at(held_piece.group->name());
    const std::string& name = piece->weight->name;
    tensors.push_back(held(state::name_in_checkpoint(name), unit.master, *piece));
    if (unit.mean.defined()) tensors.push_back(held("mean." + name, unit.mean, *piece));
    if (unit.mean_square.defined())
      tensors.push_back(held("mean_square." + name, unit.mean_square, *piece));
  }
  return tensors;
}

// This rank's part of a piece that others hold too: the copies share the shard evenly.
std::optional<Piece> own_part(const HeldPiece& held) {
  if (!held.counts) return std::nullopt;
  const auto [copy, copies, elements] = held.group->copy();
  const auto bound = [&, all = static_cast<uint64_t>(elements)](int number) {
    return static_cast<int64_t>(
        even_part_begin(all, static_cast<uint64_t>(number), static_cast<uint64_t>(copies)));
  };
  const Piece& piece = held.piece;
  const int64_t begin = std::max(piece.offset, bound(copy));
  const int64_t end = std::min(piece.offset + piece.count, bound(copy + 1));
  if (begin >= end) return std::nullopt;
  return Piece{piece.weight, piece.first + begin - piece.offset, end - begin, begin};
}

}  // namespace

std::vector<HeldTensor> held_by(const TrainingState& state) {
  std::vector<HeldTensor> tensors = divided_tensors(
      state, [](const HeldPiece& piece) { return std::optional<Piece>(piece.piece); });
  for (const NamedTensor& named : small_tensors(state)) tensors.push_back(whole(named));
  return tensors;
}

std::vector<HeldTensor> written_by(const TrainingState& state) {
  std::vector<HeldTensor> tensors = divided_tensors(state, own_part);
  if (state.world.rank() != 0) return tensors;
  for (const NamedTensor& named : small_tensors(state)) tensors.push_back(whole(named));
  return tensors;
}

std::vector<HeldTensor> held_weights(const parallel::ParallelModel& model) {
  std::vector<HeldTensor> tensors;
  for (const HeldPiece& piece : model.pieces())
    tensors.push_back(held(state::name_in_checkpoint(piece.piece.weight->name),
                           piece.group->shard(), piece.piece));
  return tensors;
}

}  // namespace shoal::checkpoint

#include "shoal/checkpoint/held_tensors.h"

#include <ATen/ATen.h>

#include "shoal/plan/holdings.h"

namespace shoal::checkpoint {
namespace {

using optim::NamedTensor;
using plan::Holding;

HeldTensor held(std::string name, const at::Tensor& flat, const Holding& holding) {
  return {std::move(name), holding.weight->shape, flat.narrow(0, holding.offset, holding.count),
          boxes_of_range(holding.weight->parts, holding.first, holding.count)};
}

HeldTensor whole(const NamedTensor& named) {
  const Shape shape = named.tensor.sizes().vec();
  return {named.name,
          shape,
          named.tensor,
          {{whole_of(shape), 0, static_cast<int64_t>(named.tensor.numel())}}};
}

std::vector<NamedTensor> small_tensors(const TrainingState& state) {
  std::vector<NamedTensor> tensors = state.model.optimizer().other_state();
  tensors.insert(tensors.end(), state.others.begin(), state.others.end());
  return tensors;
}

// Returns the sharded tensors of some holdings: weights, and the optimizer's moments.
std::vector<HeldTensor> divided_tensors(const TrainingState& state,
                                        const std::vector<Holding>& holdings) {
  const std::vector<optim::UnitState> units = state.model.optimizer().unit_states();
  std::vector<HeldTensor> tensors;
  for (const Holding& holding : holdings) {
    const optim::UnitState& unit = units[holding.group];
    const std::string& name = holding.weight->name;
    tensors.push_back(held(state::name_in_checkpoint(name), unit.master, holding));
    if (unit.first_moment.defined())
      tensors.push_back(held("first_moment." + name, unit.first_moment, holding));
    if (unit.second_moment.defined())
      tensors.push_back(held("second_moment." + name, unit.second_moment, holding));
  }
  return tensors;
}

}  // namespace

std::vector<HeldTensor> held_by(const TrainingState& state) {
  state.model.settle();  // a gather that is under way writes to masters that are the weights
  return held_unsettled(state);
}

std::vector<HeldTensor> held_unsettled(const TrainingState& state) {
  std::vector<HeldTensor> tensors = divided_tensors(state, state.model.holdings());
  for (const NamedTensor& named : small_tensors(state)) tensors.push_back(whole(named));
  return tensors;
}

std::vector<HeldTensor> written_by(const TrainingState& state) {
  state.model.settle();
  std::vector<HeldTensor> tensors =
      divided_tensors(state, plan::written_holdings(state.model.plan()));
  if (state.world.rank() != 0) return tensors;
  for (const NamedTensor& named : small_tensors(state)) tensors.push_back(whole(named));
  return tensors;
}

std::vector<HeldTensor> held_weights(const parallel::ParallelModel& model) {
  const std::vector<at::Tensor> masters = model.masters();
  std::vector<HeldTensor> tensors;
  for (const Holding& holding : model.holdings())
    tensors.push_back(
        held(state::name_in_checkpoint(holding.weight->name), masters[holding.group], holding));
  return tensors;
}

}  // namespace shoal::checkpoint

#include "shoal/checkpoint/training_state.h"

#include <map>

#include <ATen/ATen.h>

#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/state/checkpoint_writer.h"

namespace shoal::checkpoint {
namespace {

using optim::NamedTensor;

std::string weight_name(const model::WeightSpec& spec) { return "weights." + spec.name; }

bool is_whole(const parallel::Piece& piece) {
  return piece.spec->parts.empty() && piece.count == piece.spec->local_elements();
}

template <class Visit>
void for_each_piece(const parallel::ParallelModel& model, Visit&& visit) {
  for (const auto& stage : model.stages()) {
    for (const auto& group : stage->groups()) {
      for (const parallel::Piece& piece : group->pieces()) visit(*group, piece);
    }
  }
}

// All tensors of a state by their names in the checkpoint: views of what they are in memory.
std::vector<NamedTensor> tensors_of(const TrainingState& state) {
  std::map<std::string, optim::UnitState> units;
  for (optim::UnitState& unit : state.optimizer.unit_states())
    units.emplace(unit.name, std::move(unit));
  std::vector<NamedTensor> tensors = state.optimizer.other_state();
  tensors.insert(tensors.end(), state.others.begin(), state.others.end());
  for_each_piece(state.model, [&](const parallel::UnitGroup& group, const parallel::Piece& piece) {
    const model::WeightSpec& spec = *piece.spec;
    SHOAL_CHECK(is_whole(piece), "{}: parts of a weight are not saved yet", spec.name);
    const optim::UnitState& kept = units.at(group.name());
    const auto add = [&](const std::string& name, const at::Tensor& flat) {
      if (flat.defined())
        tensors.push_back({name, flat.narrow(0, piece.offset, piece.count).view(spec.shape)});
    };
    add(weight_name(spec), kept.master);
    add("mean." + spec.name, kept.mean);
    add("mean_square." + spec.name, kept.mean_square);
  });
  return tensors;
}

void read_into(const state::Checkpoint& checkpoint,
               const std::string& name,
               const at::Tensor& tensor) {
  const state::TensorEntry* const entry = checkpoint.find(name);
  const std::string where = checkpoint.path().string();
  if (entry == nullptr) throw DataError(format("{} has no tensor '{}'", where, name));
  if (at::IntArrayRef(entry->shape) != tensor.sizes())
    throw DataError(format("{}: tensor '{}' is {}, but this run's is {}", where, name,
                           state::describe(entry->shape), state::describe(tensor.sizes().vec())));
  const at::Tensor read = at::empty(entry->shape, torch_type(entry->dtype));
  checkpoint.read(name, writable_bytes_of(read));
  tensor.copy_(read);
}

}  // namespace

bool can_save(const parallel::ParallelModel& model) {
  bool whole = model.holds_every_unit();
  for_each_piece(model, [&](const parallel::UnitGroup&, const parallel::Piece& piece) {
    whole = whole && is_whole(piece);
  });
  return whole;
}

std::filesystem::path save(const std::filesystem::path& root,
                           uint64_t step,
                           const TrainingState& state,
                           const state::Values& values) {
  const at::NoGradGuard no_grad;
  state::CheckpointWriter writer(root, step);
  for (const NamedTensor& named : tensors_of(state)) {
    const at::Tensor tensor = named.tensor.to(at::kCPU).contiguous();
    const state::Shape shape = tensor.sizes().vec();
    writer.add({.name = named.name,
                .dtype = disk_type(tensor.scalar_type()),
                .global_shape = shape,
                .box = state::whole_of(shape),
                .bytes = bytes_of(tensor)});
  }
  return writer.commit(values);
}

void load(const state::Checkpoint& checkpoint, const TrainingState& state) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& named : tensors_of(state))
    read_into(checkpoint, named.name, named.tensor);
  state.optimizer.weights_from_masters();
}

void load_weights(const state::Checkpoint& checkpoint, const model::Decoder& decoder) {
  const at::NoGradGuard no_grad;
  for (const auto& unit : decoder.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i)
      read_into(checkpoint, weight_name(unit->weights().spec(i)), unit->weights().weight(i));
  }
}

}  // namespace shoal::checkpoint

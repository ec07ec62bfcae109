#include "shoal/checkpoint/training_state.h"

#include <map>
#include <optional>

#include <ATen/ATen.h>

#include "shoal/checkpoint/held_boxes.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/comm/texts.h"
#include "shoal/core/error.h"
#include "shoal/state/checkpoint_writer.h"

namespace shoal::checkpoint {
namespace {

using optim::NamedTensor;

std::string weight_name(const model::WeightSpec& spec) { return "weights." + spec.name; }

// A tensor of the optimizer's, or weights: a logical tensor of which this rank holds a piece.
struct Held {
  std::string name;
  at::Tensor flat;  // the piece's elements, in order
  const parallel::HeldPiece* piece;
};

std::vector<Held> held_by(const TrainingState& state,
                          const std::vector<parallel::HeldPiece>& pieces) {
  std::map<std::string, optim::UnitState> units;
  for (optim::UnitState& unit : state.optimizer.unit_states())
    units.emplace(unit.name, std::move(unit));
  std::vector<Held> all;
  for (const parallel::HeldPiece& held : pieces) {
    const optim::UnitState& kept = units.at(held.group->name());
    const auto add = [&](const std::string& name, const at::Tensor& flat) {
      if (flat.defined())
        all.push_back({name, flat.narrow(0, held.piece.offset, held.piece.count), &held});
    };
    add(weight_name(*held.piece.spec), kept.master);
    add("mean." + held.piece.spec->name, kept.mean);
    add("mean_square." + held.piece.spec->name, kept.mean_square);
  }
  return all;
}

std::vector<NamedTensor> small_tensors(const TrainingState& state) {
  std::vector<NamedTensor> tensors = state.optimizer.other_state();
  tensors.insert(tensors.end(), state.others.begin(), state.others.end());
  return tensors;
}

// What this rank writes: of equal pieces the first one. `add` takes a state::Piece.
template <class Add>
void write_own(const TrainingState& state, Add&& add) {
  const std::vector<parallel::HeldPiece> pieces = state.model.pieces();
  for (const Held& held : held_by(state, pieces)) {
    if (!held.piece->counts || !held.piece->group->is_first_copy()) continue;
    const at::Tensor flat = held.flat.to(at::kCPU).contiguous();
    const std::span<const std::byte> bytes = bytes_of(flat);
    const auto element = static_cast<size_t>(flat.element_size());
    for (const HeldBox& box : boxes_of(held.piece->piece))
      add({.name = held.name,
           .dtype = disk_type(flat.scalar_type()),
           .global_shape = held.piece->piece.spec->shape,
           .box = box.box,
           .bytes = bytes.subspan(static_cast<size_t>(box.offset) * element,
                                  static_cast<size_t>(box.elements) * element)});
  }
  if (state.world.rank() != 0) return;
  for (const NamedTensor& named : small_tensors(state)) {
    const at::Tensor tensor = named.tensor.to(at::kCPU).contiguous();
    const state::Shape shape = tensor.sizes().vec();
    add({.name = named.name,
         .dtype = disk_type(tensor.scalar_type()),
         .global_shape = shape,
         .box = state::whole_of(shape),
         .bytes = bytes_of(tensor)});
  }
}

// Runs `work` on the ranks that have some, and tells all of them when it fails anywhere.
template <class Work>
void together(comm::World& world, const char* what, Work&& work) {
  std::string error;
  try {
    work();
  } catch (const DataError& e) {
    error = e.what();
  }
  if (!world.control().any(!error.empty(), what)) return;
  for (const std::string& text : comm::all_texts(world, error, what)) {
    if (!text.empty()) throw DataError(text);
  }
}

const state::TensorEntry& require(const state::Checkpoint& checkpoint,
                                  const std::string& name,
                                  const state::Shape& shape) {
  const state::TensorEntry* const entry = checkpoint.find(name);
  const std::string where = checkpoint.path().string();
  if (entry == nullptr) throw DataError(format("{} has no tensor '{}'", where, name));
  if (entry->shape != shape)
    throw DataError(format("{}: tensor '{}' is {}, but this run's is {}", where, name,
                           state::describe(entry->shape), state::describe(shape)));
  return *entry;
}

void read_into(const state::Checkpoint& checkpoint,
               const std::string& name,
               const at::Tensor& tensor) {
  const state::TensorEntry& entry = require(checkpoint, name, tensor.sizes().vec());
  const at::Tensor read = at::empty(entry.shape, torch_type(entry.dtype));
  checkpoint.read(name, writable_bytes_of(read));
  tensor.copy_(read);
}

void read_piece(const state::Checkpoint& checkpoint, const Held& held) {
  const parallel::Piece& piece = held.piece->piece;
  const state::TensorEntry& entry = require(checkpoint, held.name, piece.spec->shape);
  const at::Tensor read = at::empty({piece.count}, torch_type(entry.dtype));
  const auto element = static_cast<size_t>(read.element_size());
  for (const HeldBox& box : boxes_of(piece))
    checkpoint.read(held.name, box.box,
                    writable_bytes_of(read).subspan(static_cast<size_t>(box.offset) * element,
                                                    static_cast<size_t>(box.elements) * element));
  held.flat.copy_(read);
}

}  // namespace

std::filesystem::path save(const std::filesystem::path& root,
                           uint64_t step,
                           const TrainingState& state,
                           const state::Values& values) {
  const at::NoGradGuard no_grad;
  comm::World& world = state.world;
  std::optional<state::CheckpointWriter> writer;
  together(world, "a directory for a checkpoint", [&] {
    if (world.rank() == 0) writer.emplace(root, step);
  });
  const std::string directory =
      comm::text_of_first(world, writer ? writer->directory().string() : "", "where to write");
  state::PartList mine;
  together(world, "writing a checkpoint", [&] {
    if (writer) {
      write_own(state, [&](const state::Piece& piece) { writer->add(piece); });
      return;
    }
    state::PartWriter part(directory, world.rank());
    write_own(state, [&](const state::Piece& piece) { part.add(piece); });
    mine = part.finish();
  });
  const std::vector<std::string> lists =
      comm::all_texts(world, writer ? "" : state::to_json(mine), "what each rank wrote");
  together(world, "committing a checkpoint", [&] {
    if (!writer) return;
    std::vector<state::PartList> others;
    for (size_t rank = 1; rank < lists.size(); ++rank)
      others.push_back(state::part_list_from_json(lists[rank], format("rank {}", rank)));
    writer->commit(values, std::move(others));
  });
  return root / state::step_directory(step);
}

void load(const state::Checkpoint& checkpoint, const TrainingState& state) {
  const at::NoGradGuard no_grad;
  const std::vector<parallel::HeldPiece> pieces = state.model.pieces();
  for (const Held& held : held_by(state, pieces)) read_piece(checkpoint, held);
  for (const NamedTensor& named : small_tensors(state))
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

void load_weights(const state::Checkpoint& checkpoint, parallel::ParallelModel& model) {
  const at::NoGradGuard no_grad;
  for (const parallel::HeldPiece& held : model.pieces())
    read_piece(checkpoint,
               {weight_name(*held.piece.spec),
                held.group->shard().narrow(0, held.piece.offset, held.piece.count), &held});
  model.changed();
}

}  // namespace shoal::checkpoint

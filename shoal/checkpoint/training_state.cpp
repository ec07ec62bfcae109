#include "shoal/checkpoint/training_state.h"

#include <ATen/ATen.h>

#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/saver.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/core/few_threads.h"
#include "shoal/state/checkpoint_writer.h"

namespace shoal::checkpoint {
namespace {

constexpr size_t kMostReaders = 4;

const state::TensorSpec& require(const state::Checkpoint& checkpoint,
                                 const std::string& name,
                                 const Shape& shape) {
  const state::TensorSpec* const spec = checkpoint.find(name);
  const std::string where = checkpoint.path().string();
  if (spec == nullptr) throw DataError(format("{} has no tensor '{}'", where, name));
  if (spec->shape != shape)
    throw DataError(format("{}: tensor '{}' is {}, but this run's is {}", where, name,
                           state::describe(spec->shape), state::describe(shape)));
  return *spec;
}

// Reads directly into the tensor when it is a contiguous CPU tensor of the type on disk.
void read_held(const state::Checkpoint& checkpoint, const HeldTensor& held) {
  const state::TensorSpec& spec = require(checkpoint, held.name, held.shape);
  const at::ScalarType type = torch_type(spec.dtype);
  const bool in_place =
      held.flat.scalar_type() == type && held.flat.is_cpu() && held.flat.is_contiguous();
  const at::Tensor read = in_place ? held.flat : at::empty({held.flat.numel()}, type);
  const auto element = static_cast<size_t>(read.element_size());
  for (const BoxOfRange& box : held.boxes)
    checkpoint.read(held.name, box.box,
                    writable_bytes_of(read).subspan(static_cast<size_t>(box.offset) * element,
                                                    static_cast<size_t>(box.elements) * element));
  if (!in_place) held.flat.copy_(read.view(held.flat.sizes()));
}

void read_all(const state::Checkpoint& checkpoint, const std::vector<HeldTensor>& tensors) {
  (void)checkpoint.index();
  for_each_by_few_threads(tensors.size(), kMostReaders, [&](size_t i) {
    const at::NoGradGuard no_grad;  // the guard is thread-local
    read_held(checkpoint, tensors[i]);
  });
}

}  // namespace

std::filesystem::path save(const std::filesystem::path& root,
                           uint64_t step,
                           const TrainingState& state,
                           const state::Values& values) {
  Saver saver(state.world, root);
  saver.begin(step, state, values);
  saver.finish();
  return root / state::step_directory(step);
}

void load(const state::Checkpoint& checkpoint, const TrainingState& state) {
  const at::NoGradGuard no_grad;
  std::vector<HeldTensor> tensors = held_by(state);
  for (const optim::NamedTensor& other : state.others) {
    if (checkpoint.find(other.name) == nullptr)
      std::erase_if(tensors, [&](const HeldTensor& held) { return held.name == other.name; });
  }
  read_all(checkpoint, tensors);
}

void load_weights(const state::Checkpoint& checkpoint, parallel::ParallelModel& model) {
  model.set_masters([&] {
    const at::NoGradGuard no_grad;
    read_all(checkpoint, held_weights(model));
  });
}

}  // namespace shoal::checkpoint

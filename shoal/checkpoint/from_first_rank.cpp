#include "shoal/checkpoint/from_first_rank.h"

#include <cstring>
#include <map>

#include <ATen/ATen.h>

#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/checkpoint/together.h"
#include "shoal/core/error.h"

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{64} << 20;

// A held tensor in its type on disk, until it is complete.
struct Arriving {
  const HeldTensor* held = nullptr;
  at::Tensor elements;
};

void take(const Box& block, const at::Tensor& bytes, const Arriving& arriving) {
  const auto element = static_cast<size_t>(arriving.elements.element_size());
  for (const BoxOfRange& box : arriving.held->boxes) {
    const std::span<std::byte> out = writable_bytes_of(arriving.elements)
                                         .subspan(static_cast<size_t>(box.offset) * element,
                                                  static_cast<size_t>(box.elements) * element);
    for_each_run(block, box.box, [&](const ElementRun& run) {
      std::memcpy(out.data() + run.to * element, bytes_of(bytes).data() + run.from * element,
                  run.count * element);
    });
  }
}

using Wanted = std::map<std::string, std::vector<const HeldTensor*>>;

// Checks on all ranks that the tensors they hold are in the checkpoint.
void check(comm::World& world, const state::CheckpointManifest& manifest, const Wanted& wanted) {
  together(world, "what a checkpoint has", [&] {
    size_t found = 0;
    for (const state::TensorSpec& tensor : manifest.tensors) {
      const auto held = wanted.find(tensor.name);
      if (held == wanted.end()) continue;
      ++found;
      (void)torch_type(tensor.dtype);
      if (held->second.front()->shape != tensor.shape)
        throw DataError(format("tensor '{}' is {}, but this run's is {}", tensor.name,
                               state::describe(tensor.shape),
                               state::describe(held->second.front()->shape)));
    }
    if (found != wanted.size())
      throw DataError(format("{} of this run's tensors are missing", wanted.size() - found));
  });
}

// Returns the tensors that any rank holds, in manifest order; others are not read.
std::vector<const state::TensorSpec*> wanted_by_any(comm::World& world,
                                                    const state::CheckpointManifest& manifest,
                                                    const Wanted& wanted) {
  const at::Tensor flags = at::zeros({static_cast<int64_t>(manifest.tensors.size())}, at::kLong);
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (wanted.count(manifest.tensors[i].name) > 0) flags[static_cast<int64_t>(i)] = 1;
  }
  world.control().all_reduce(flags, comm::Reduce::kMax, "which tensors are held");
  std::vector<const state::TensorSpec*> tensors;
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (flags.const_data_ptr<int64_t>()[i] != 0) tensors.push_back(&manifest.tensors[i]);
  }
  return tensors;
}

}  // namespace

void load_from_first_rank(comm::World& world,
                          const state::Checkpoint* checkpoint,
                          const state::CheckpointManifest& manifest,
                          const std::vector<HeldTensor>& tensors) {
  Wanted wanted;
  for (const HeldTensor& held : tensors) wanted[held.name].push_back(&held);
  check(world, manifest, wanted);
  for (const state::TensorSpec* const tensor : wanted_by_any(world, manifest, wanted)) {
    std::vector<Arriving> arriving;
    for (const HeldTensor* held : wanted[tensor->name])
      arriving.push_back({held, at::empty({held->flat.numel()}, torch_type(tensor->dtype))});
    const uint64_t element = state::element_bytes(tensor->dtype);
    for_each_block(tensor->shape, kBlockBytes / element, [&](const Box& block) {
      const auto size = static_cast<int64_t>(elements_of(block) * element);
      const at::Tensor bytes = at::empty({size}, at::kByte);
      together(world, "a part of a checkpoint", [&] {
        if (checkpoint != nullptr) checkpoint->read(tensor->name, block, writable_bytes_of(bytes));
      });
      world.control().broadcast(bytes, 0, "a part of a checkpoint");
      for (const Arriving& one : arriving) take(block, bytes, one);
    });
    for (const Arriving& one : arriving)
      one.held->flat.copy_(one.elements.view(one.held->flat.sizes()));
  }
}

}  // namespace shoal::checkpoint

#include "shoal/checkpoint/handover.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::checkpoint {
namespace {

bool same_elements(const HeldTensor& a, const HeldTensor& b) {
  return a.name == b.name && a.shape == b.shape && a.flat.sizes() == b.flat.sizes() &&
         a.flat.scalar_type() == b.flat.scalar_type() &&
         std::equal(a.boxes.begin(), a.boxes.end(), b.boxes.begin(), b.boxes.end(),
                    [](const BoxOfRange& one, const BoxOfRange& other) {
                      return one.box == other.box && one.offset == other.offset;
                    });
}

bool fits(const CarriedState* carried, const std::vector<HeldTensor>& held) {
  return carried != nullptr &&
         std::equal(carried->begin(), carried->end(), held.begin(), held.end(), same_elements);
}

}  // namespace

CarriedState carry(const TrainingState& state) { return held_unsettled(state); }

void broadcast(const CarriedState& state, comm::Group ranks, int source) {
  for (const HeldTensor& held : state) ranks.broadcast(held.flat, source, held.name).wait();
}

void hand_over(const CarriedState* mine, const TrainingState& state, comm::Group replicas) {
  const at::NoGradGuard no_grad;
  state.model.set_masters([&] {
    const std::vector<HeldTensor> held = held_by(state);
    const bool has = fits(mine, held);
    const at::Tensor source =
        at::full({1}, has ? replicas.rank() : replicas.size(),
                 at::TensorOptions().dtype(at::kLong).device(state.model.device()));
    replicas.all_reduce(source, comm::Reduce::kMin, "who has the state").wait();
    const auto root = static_cast<int>(source.item<int64_t>());
    if (root == replicas.size()) throw PeerLost("no remaining rank has the state of this one");
    for (size_t i = 0; i < held.size() && has; ++i) held[i].flat.copy_((*mine)[i].flat);
    broadcast(held, replicas, root);
  });
}

}  // namespace shoal::checkpoint

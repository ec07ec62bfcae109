#include "shoal/parallel/stage.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/core/error.h"

namespace shoal::parallel {
namespace {

// The beginning of a unit's island.
at::Tensor entered(const at::Tensor& x) {
  const at::Tensor start =
      x.defined() ? x.detach() : at::empty({0}, at::TensorOptions().dtype(at::kFloat));
  return start.requires_grad_(true);
}

}  // namespace

Stage::Stage(const model::Decoder& decoder,
             std::vector<std::vector<size_t>> groups,
             std::vector<std::unique_ptr<UnitGroup>> tensors,
             StageOptions options)
    : decoder_(decoder),
      members_(std::move(groups)),
      groups_(std::move(tensors)),
      options_(std::move(options)),
      places_(decoder.units().size()) {
  SHOAL_CHECK(groups_.size() == members_.size(), "{} groups of units, and tensors of {}",
              members_.size(), groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const size_t unit : members_[g]) places_[unit].group = groups_[g].get();
    places_[members_[g].front()].first = true;
    places_[members_[g].back()].last = true;
  }
  for (const Place& place : places_) {
    if (place.first) forward_order_.push_back(place.group);
  }
  for (size_t i = places_.size(); i-- > 0;) {
    if (places_[i].last) backward_order_.push_back(places_[i].group);
  }
}

void Stage::open(size_t unit, Direction direction) {
  const Place& place = places_[unit];
  if (place.group == nullptr) return;
  place.group->open();
  // A group of units that are apart, as a tied head, has been opened when its second unit comes.
  if (direction == Direction::kForward ? !place.first : !place.last) return;
  const std::vector<UnitGroup*>& order =
      direction == Direction::kForward ? forward_order_ : backward_order_;
  auto next = std::find(order.begin(), order.end(), place.group) + 1;
  for (int i = 0; i < options_.prefetch && next != order.end(); ++i, ++next) (*next)->prefetch();
}

void Stage::reduce(UnitGroup& group, bool last_micro_batch) {
  if (reducing_ != nullptr) reducing_->finish();
  group.reduce(last_micro_batch, options_.before_reduce);
  reducing_ = &group;
}

at::Tensor Stage::forward(const at::Tensor& x, const model::Pass& pass, Kept& kept) {
  const auto units = decoder_.units();
  const bool again = options_.recompute == config::Recompute::kFull;
  kept = {.pass = pass,
          .in = std::vector<at::Tensor>(units.size()),
          .out = std::vector<at::Tensor>(units.size())};
  at::Tensor y = x;
  for (size_t i = 0; i < units.size(); ++i) {
    open(i, Direction::kForward);
    kept.in[i] = entered(y);
    // Only blocks have much inside; the head has already been backward when its loss is there.
    const bool keep = !again || units[i]->kind() != config::UnitKind::kBlock;
    if (places_[i].group != nullptr && units[i]->kind() == config::UnitKind::kHead)
      places_[i].group->open_gradients();
    const at::AutoGradMode recording(keep);
    y = units[i]->forward(kept.in[i], pass);
    if (keep) kept.out[i] = y;
    const bool stays = options_.backward_follows && i + 1 == units.size();
    if (places_[i].last && !stays) places_[i].group->close(Direction::kForward);
  }
  return y.detach();
}

at::Tensor Stage::backward(Kept& kept, const at::Tensor& gradient, bool last_micro_batch) {
  const auto units = decoder_.units();
  at::Tensor g = gradient;
  for (size_t i = units.size(); i-- > 0;) {
    open(i, Direction::kBackward);
    const Place& place = places_[i];
    if (place.group != nullptr) place.group->open_gradients();
    if (!kept.out[i].defined()) kept.out[i] = units[i]->forward(kept.in[i], kept.pass);
    if (!g.defined()) g = at::ones_like(kept.out[i]);
    torch::autograd::backward({kept.out[i]}, {g});
    g = kept.in[i].grad();
    kept.in[i] = kept.out[i] = at::Tensor();
    if (!place.first) continue;
    place.group->close(Direction::kBackward);
    if (!place.group->policy().reduce_at_end) reduce(*place.group, last_micro_batch);
  }
  return g;
}

at::Tensor Stage::evaluate(const at::Tensor& x, const model::Pass& pass) {
  const at::NoGradGuard no_grad;
  const auto units = decoder_.units();
  at::Tensor y = x;
  for (size_t i = 0; i < units.size(); ++i) {
    open(i, Direction::kForward);
    y = units[i]->forward(y, pass);
    if (places_[i].last) places_[i].group->close(Direction::kBackward);
  }
  return y;
}

void Stage::complete_gradients() {
  for (const auto& group : groups_) {
    if (group->policy().reduce_at_end) reduce(*group, /*last_micro_batch=*/true);
  }
  reducing_ = nullptr;
  for (const auto& group : groups_) group->complete();
}

}  // namespace shoal::parallel

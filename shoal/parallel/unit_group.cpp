#include "shoal/parallel/unit_group.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::parallel {
namespace {

std::string joined_name(const std::vector<model::UnitWeights*>& units) {
  const std::string& first = units.front()->name();
  return units.size() == 1 ? first : format("{}..{}", first, units.back()->name());
}

}  // namespace

UnitGroup::UnitGroup(std::vector<model::UnitWeights*> units,
                     const plan::GroupPlan& plan,
                     const DataRanks& ranks,
                     const model::Materials& materials)
    : name_(joined_name(units)), units_(std::move(units)), ranks_(ranks), elements_(plan.shard) {
  const int64_t first = elements_ * ranks_.shards.rank();
  const auto options = at::TensorOptions().device(materials.device);
  if (plan.policy.keep_weights) {
    whole_ = at::zeros({whole_elements()}, options.dtype(materials.dtype));
    shard_ = whole_.narrow(0, first, elements_);
    lend(whole_);
  } else {
    shard_ = at::zeros({elements_}, options.dtype(materials.dtype));
  }
  if (materials.new_values) {
    int64_t begin = 0;
    for (const model::UnitWeights* unit : units_) {
      const int64_t from = std::max(begin, first);
      const int64_t count = std::min(begin + unit->elements(), first + elements_) - from;
      if (count > 0)
        unit->draw(shard_.narrow(0, from - first, count), from - begin, materials.seed);
      begin += unit->elements();
    }
  }
  if (materials.gradients)
    shard_gradient_ = at::zeros({elements_}, options.dtype(materials.gradient_dtype));
}

UnitGroup::~UnitGroup() {
  try {
    gathering_.wait();
    reduction_.wait();
    replication_.wait();
  } catch (const std::exception&) {  // a peer is lost: the next wait reports it
  }
}

void UnitGroup::lend(const at::Tensor& whole) {
  int64_t begin = 0;
  for (model::UnitWeights* unit : units_) {
    unit->set_weights(whole.defined() ? whole.narrow(0, begin, unit->elements()) : at::Tensor());
    begin += unit->elements();
  }
}

// ---- weights ----

void UnitGroup::start_gather() {
  gathering_.wait();
  if (!whole_.defined()) whole_ = at::empty({whole_elements()}, shard_.options());
  gathering_ = ranks_.shards.all_gather(whole_, shard_, "weights of " + name_);
}

void UnitGroup::await_gather() {
  settle();
  lend(whole_);
}

void UnitGroup::release() {
  lend({});
  whole_ = at::Tensor();
}

void UnitGroup::settle() {
  gathering_.wait();
  gathering_ = comm::Pending();
}

// ---- gradients ----

void UnitGroup::open_gradients() {
  whole_gradient_ =
      is_one_shard() ? shard_gradient_ : at::empty({whole_elements()}, shard_gradient_.options());
  int64_t begin = 0;
  for (model::UnitWeights* unit : units_) {
    unit->set_gradients(whole_gradient_.narrow(0, begin, unit->elements()));
    begin += unit->elements();
  }
  whole_gradient_.narrow(0, begin, whole_gradient_.numel() - begin).zero_();
}

void UnitGroup::close_gradients() {
  if (!whole_gradient_.defined()) return;
  for (model::UnitWeights* unit : units_) unit->close_gradients();
}

void UnitGroup::start_reduce(bool adds) {
  close_gradients();
  if (adds) arriving_ = at::empty_like(shard_gradient_);
  reduction_ = ranks_.shards.reduce_scatter(adds ? arriving_ : shard_gradient_, whole_gradient_,
                                            comm::Reduce::kSum, "gradients of " + name_);
}

void UnitGroup::await_reduce() {
  reduction_.wait();
  reduction_ = comm::Pending();
  if (arriving_.defined()) shard_gradient_.add_(arriving_);
  arriving_ = whole_gradient_ = at::Tensor();
  for (model::UnitWeights* unit : units_) unit->set_gradients({});
}

void UnitGroup::start_replicas() {
  close_gradients();
  replication_ = ranks_.replicas.all_reduce(shard_gradient_, comm::Reduce::kSum,
                                            "gradients of " + name_ + " over copies");
}

void UnitGroup::await_replicas() {
  replication_.wait();
  replication_ = comm::Pending();
}

}  // namespace shoal::parallel

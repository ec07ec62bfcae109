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

at::Tensor part_of(const at::Tensor& whole, const Piece& piece) {
  std::vector<at::Tensor> parts;
  for (const Box& box : piece.weight->parts)
    parts.push_back(model::in_box(whole, box).reshape({-1}));
  return at::cat(parts).narrow(0, piece.first, piece.count);
}

UnitGroup::UnitGroup(std::vector<model::UnitWeights*> units,
                     const DataRanks& ranks,
                     const Policy& policy,
                     const model::Materials& materials)
    : name_(joined_name(units)),
      units_(std::move(units)),
      ranks_(ranks),
      policy_(policy),
      materials_(materials) {
  int64_t all = 0;
  for (const model::UnitWeights* unit : units_) all += unit->elements();
  elements_ = (all + ranks_.shards.size() - 1) / ranks_.shards.size();
  first_ = elements_ * ranks_.shards.rank();
  SHOAL_CHECK(!alone() || (policy_.keep_weights && policy_.keep_gradients),
              "{}: a rank alone has everything whole", name_);

  const auto options = at::TensorOptions().device(materials_.device);
  if (policy_.keep_weights) {
    whole_ = at::zeros({elements_ * ranks_.shards.size()}, options.dtype(materials_.dtype));
    shard_ = whole_.narrow(0, first_, elements_);
  } else {
    shard_ = at::zeros({elements_}, options.dtype(materials_.dtype));
  }
  if (materials_.new_values) {
    int64_t begin = 0;
    for (const model::UnitWeights* unit : units_) {
      const int64_t from = std::max(begin, first_);
      const int64_t count = std::min(begin + unit->elements(), first_ + elements_) - from;
      if (count > 0)
        unit->draw(shard_.narrow(0, from - first_, count), from - begin, materials_.seed);
      begin += unit->elements();
    }
  }
  if (materials_.gradients)
    shard_gradient_ = at::zeros({elements_}, options.dtype(materials_.gradient_dtype));
  if (policy_.keep_weights && materials_.new_values) changed();
}

UnitGroup::~UnitGroup() {
  try {
    gathering_.wait();
    complete();
  } catch (const std::exception&) {  // a peer is gone: whoever waits next will say so
  }
}

// ---- weights ----

void UnitGroup::start_gather() {
  gathering_.wait();
  if (!whole_.defined()) whole_ = at::empty({elements_ * ranks_.shards.size()}, shard_.options());
  gathering_ = ranks_.shards.all_gather(whole_, shard_, "weights of " + name_);
}

void UnitGroup::prefetch() {
  if (!whole_.defined() && elements_ > 0) start_gather();
}

void UnitGroup::open() {
  if (lent_) return;
  prefetch();
  gathering_.wait();
  gathering_ = comm::Pending();
  lend(whole_);
  lent_ = true;
}

void UnitGroup::close(Direction direction) {
  const bool keep =
      policy_.keep_weights || (direction == Direction::kForward && !policy_.reshard_after_forward);
  if (keep) return;
  lend({});
  whole_ = at::Tensor();
  lent_ = false;
}

void UnitGroup::lend(const at::Tensor& whole) {
  int64_t begin = 0;
  for (model::UnitWeights* unit : units_) {
    unit->set_weights(whole.defined() ? whole.narrow(0, begin, unit->elements()) : at::Tensor());
    begin += unit->elements();
  }
}

void UnitGroup::settle() {
  gathering_.wait();
  gathering_ = comm::Pending();
}

void UnitGroup::changed() {
  if (alone() || elements_ == 0) return;
  settle();
  if (!policy_.keep_weights) {  // what has been gathered is of old
    close(Direction::kBackward);
    return;
  }
  // open() waits for it: the first units of the next forward pass hide the others' gathers.
  lent_ = false;
  start_gather();
}

// ---- gradients ----

void UnitGroup::open_gradients() {
  finish();  // of the micro-batch before
  if (whole_gradient_.defined()) return;
  whole_gradient_ = alone()
                        ? shard_gradient_
                        : at::empty({elements_ * ranks_.shards.size()}, shard_gradient_.options());
  int64_t begin = 0;
  for (model::UnitWeights* unit : units_) {
    unit->set_gradients(whole_gradient_.narrow(0, begin, unit->elements()));
    begin += unit->elements();
  }
  whole_gradient_.narrow(0, begin, whole_gradient_.numel() - begin).zero_();
}

void UnitGroup::reduce(bool last_micro_batch,
                       const std::function<void(model::UnitWeights&)>& complete) {
  if (policy_.keep_gradients && !last_micro_batch) return;
  for (model::UnitWeights* unit : units_) {
    unit->close_gradients();
    complete(*unit);
  }
  reducing_ = true;
  last_ = last_micro_batch;
  if (alone() || elements_ == 0) return;
  if (reduced_before_) arriving_ = at::empty_like(shard_gradient_);
  reduction_ =
      ranks_.shards.reduce_scatter(reduced_before_ ? arriving_ : shard_gradient_, whole_gradient_,
                                   comm::Reduce::kSum, "gradients of " + name_);
}

void UnitGroup::finish() {
  if (!reducing_) return;
  reduction_.wait();
  reduction_ = comm::Pending();
  if (arriving_.defined()) shard_gradient_.add_(arriving_);
  arriving_ = whole_gradient_ = at::Tensor();
  for (model::UnitWeights* unit : units_) unit->set_gradients({});
  reduced_before_ = true;
  reducing_ = false;
  if (last_ && ranks_.replicas.size() > 1 && elements_ > 0)
    replication_ = ranks_.replicas.all_reduce(shard_gradient_, comm::Reduce::kSum,
                                              "gradients of " + name_ + " over copies");
}

void UnitGroup::complete() {
  finish();
  replication_.wait();
  replication_ = comm::Pending();
  reduced_before_ = false;
}

// ---- between steps ----

std::vector<Piece> UnitGroup::pieces() const {
  std::vector<blueprint::LaidOut> units;
  for (const model::UnitWeights* unit : units_) units.push_back(unit->blueprint().laid_out());
  return blueprint::pieces_within(units, first_, first_ + elements_);
}

}  // namespace shoal::parallel

#include "shoal/plan/check/gradient_check.h"

#include "shoal/core/error.h"
#include "shoal/plan/check/wrong.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

bool GradientCheck::has_replicas() const { return plan_.ranks(plan_.replicas) > 1; }

void GradientCheck::open() {
  require(!open_ && !reducing_, "it is open already");
  require(!over_replicas_ && !reducing_replicas_, "it is complete already");
  open_ = true;
  written_.clear();
  over_tensor_.clear();
}

void GradientCheck::write(int32_t unit, int32_t micro_batch) {
  require(open_, "there is no room for its gradient");
  require(!reducing_ && !reducing_replicas_ && !over_replicas_, "its gradient is on its way");
  require(!over_tensor_.contains(unit) && !tied_, "its gradient has been summed already");
  Terms& terms = written_[unit];
  terms.resize(plan_.rows.size());
  ++terms[static_cast<size_t>(micro_batch)];
}

void GradientCheck::sum_partial(int32_t unit) {
  require(open_ && !reducing_ && !over_replicas_, "there is no whole gradient of it");
  require(partial_elements(plan_, stage_.units[static_cast<size_t>(unit)]) > 0,
          "no tensor-parallel rank has another term");
  require(over_tensor_.insert(unit).second, "it is summed over tensor-parallel ranks already");
}

void GradientCheck::add_tied(int32_t unit) {
  require(open_ && !reducing_ && !over_replicas_, "there is no whole gradient of it");
  require(tied_elements(plan_, stage_.units[static_cast<size_t>(unit)]) > 0,
          "it has no tied matrix");
  require(!tied_, "the other end's gradient has been added already");
  tied_ = true;
}

void GradientCheck::start_reduce(bool adds) {
  require(plan_.divides(group_), "nobody else has a shard of it");
  require(open_ && !reducing_, "there is no whole gradient, or it is on its way");
  require(adds == !reduced_.empty(),
          adds ? "there is nothing to add to" : "what earlier micro-batches left is overwritten");
  require_summed();
  reducing_ = true;
}

void GradientCheck::await_reduce() {
  require(reducing_, "nobody has started the reduction");
  add_terms();
  reducing_ = open_ = false;
}

void GradientCheck::start_replicas() {
  require(has_replicas(), "there are no replicas");
  require(!reducing_replicas_ && !over_replicas_, "it was summed before");
  if (!plan_.divides(group_)) {
    require_summed();
    add_terms();
  }
  require(!reducing_ && (plan_.divides(group_) ? !open_ : open_),
          "the sum over shards is not there");
  require_terms();
  reducing_replicas_ = true;
}

void GradientCheck::await_replicas() {
  require(reducing_replicas_, "nobody has started the sum");
  reducing_replicas_ = false;
  over_replicas_ = true;
}

void GradientCheck::complete(const std::string& name) {
  if (group_.shard == 0) return;
  if (!plan_.divides(group_) && !has_replicas()) {
    require_summed();
    add_terms();
  }
  if (reducing_ || reducing_replicas_ || (has_replicas() && !over_replicas_))
    throw Wrong{format("the gradient of {} is not complete", name)};
  require_terms();
}

void GradientCheck::update() { require(updates_++ == 0, "it was updated before"); }

void GradientCheck::require_summed() const {
  for (const size_t unit : group_.units) {
    const blueprint::UnitBlueprint& summed = stage_.units[unit];
    if (partial_elements(plan_, summed) > 0 && !over_tensor_.contains(static_cast<int32_t>(unit)))
      throw Wrong{format("gradients of {} are not summed over tensor-parallel ranks", summed.name)};
    if (tied_elements(plan_, summed) > 0 && !tied_)
      throw Wrong{format("the gradient of {} lacks that of the other end of the pipeline",
                         blueprint::kTiedMatrix)};
  }
}

void GradientCheck::require_terms() const {
  for (const size_t unit : group_.units) {
    const int expected = stage_.units[unit].kind == config::UnitKind::kHead ? 2 : 1;
    const auto found = reduced_.find(static_cast<int32_t>(unit));
    for (size_t i = 0; i < plan_.rows.size(); ++i) {
      const int terms = found == reduced_.end() ? 0 : found->second[i];
      if (terms != expected)
        throw Wrong{format("micro-batch {} is {} in the gradient of {}", i,
                           terms < expected ? "not" : "too often", stage_.units[unit].name)};
    }
  }
}

void GradientCheck::add_terms() {
  for (const auto& [unit, terms] : written_) {
    Terms& sum = reduced_[unit];
    sum.resize(terms.size());
    for (size_t i = 0; i < terms.size(); ++i) sum[i] += terms[i];
  }
  written_.clear();
}

}  // namespace shoal::plan

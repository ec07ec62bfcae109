#include "shoal/optim/optimizer.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/optim/muon.h"

namespace shoal::optim {
namespace {

// Elements of an update that is followed by a copy to half precision: both find them in the cache.
constexpr int64_t kAtOnce = 131'072;

bool has_own_master(const at::Tensor& weight) {
  return weight.scalar_type() != at::kFloat && weight.scalar_type() != at::kDouble;
}

at::Tensor norm_of(const std::vector<at::Tensor>& norms) {
  return at::linalg_vector_norm(at::stack(norms));
}

}  // namespace

Optimizer::Optimizer(const config::OptimizerConfig& config, std::vector<FlatUnit> units)
    : config_(config),
      steps_(at::zeros({}, units.at(0).weight.options().dtype(at::kFloat))),
      guard_(config.skip_spikes, units.at(0).weight.options()) {
  for (FlatUnit& flat : units) {
    Unit unit{.flat = std::move(flat)};
    const at::Tensor& weight = unit.flat.weight;
    unit.master = has_own_master(weight) ? weight.to(at::kFloat) : weight;
    unit.mean = at::zeros_like(unit.master);
    unit.mean_square = at::zeros_like(unit.master);
    SHOAL_CHECK(unit.flat.gradient.scalar_type() == unit.master.scalar_type(),
                "{}: gradients are of another type than the optimizer's weights", unit.flat.name);
    units_.push_back(std::move(unit));
  }
}

void Optimizer::masters_from_weights() {
  const at::NoGradGuard no_grad;
  for (Unit& unit : units_) {
    if (has_own_master(unit.flat.weight)) unit.master.copy_(unit.flat.weight);
  }
}

void Optimizer::weights_from_masters() {
  const at::NoGradGuard no_grad;
  for (Unit& unit : units_) {
    if (has_own_master(unit.flat.weight)) unit.flat.weight.copy_(unit.master);
  }
}

Update Optimizer::step(double lr, const at::Tensor& loss, const at::Tensor& gradient_scale) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const Unit& unit : units_) norms.push_back(at::linalg_vector_norm(unit.flat.gradient));
  at::Tensor norm = norm_of(norms);
  if (gradient_scale.defined()) norm = norm / gradient_scale;
  const at::Tensor skipped = guard_.judge(loss, norm);
  // What the gradients are divided by: more than one to make their norm the largest that is allowed.
  at::Tensor divisor = at::ones_like(norm);
  if (config_.clip > 0) divisor = ((norm + 1e-6) / config_.clip).clamp_min(1);
  if (gradient_scale.defined()) divisor = divisor * gradient_scale;
  steps_.add_(1 - skipped.squeeze(0));
  for (Unit& unit : units_) update(unit, lr, divisor, skipped);
  return {norm, skipped};
}

void Optimizer::update(Unit& unit,
                       double lr,
                       const at::Tensor& divisor,
                       const at::Tensor& skipped) {
  at::Tensor by = divisor;
  if (unit.master.scalar_type() == at::kDouble) {  // the fused update takes no other than a float
    unit.flat.gradient.div_(divisor);
    by = at::Tensor();
  }
  const int64_t all = unit.master.numel();
  const int64_t decayed = unit.flat.decayed;
  if (config_.kind == config::OptimizerKind::kMuon && !unit.flat.matrices.empty()) {
    for (const Matrix& matrix : unit.flat.matrices) {
      const auto view = [&](const at::Tensor& flat) {
        return flat.narrow(0, matrix.offset, matrix.rows * matrix.columns)
            .view({matrix.rows, matrix.columns});
      };
      update_by_muon(view(unit.master), view(unit.flat.gradient), view(unit.mean),
                     {.lr = lr, .momentum = config_.momentum, .weight_decay = config_.weight_decay},
                     by, skipped);
    }
    unit.flat.weight.narrow(0, 0, decayed).copy_(unit.master.narrow(0, 0, decayed));
  } else {
    update_by_adamw(unit, 0, decayed, lr, config_.weight_decay, by, skipped);
  }
  update_by_adamw(unit, decayed, all, lr, /*decay=*/0, by, skipped);
}

void Optimizer::update_by_adamw(Unit& unit,
                                int64_t begin,
                                int64_t end,
                                double lr,
                                double decay,
                                const at::Tensor& divisor,
                                const at::Tensor& skipped) {
  const bool own = has_own_master(unit.flat.weight);
  const int64_t step = own ? kAtOnce : std::max<int64_t>(end - begin, 1);
  for (int64_t at = begin; at < end; at += step) {
    const auto part = [&](const at::Tensor& flat) {
      return flat.narrow(0, at, std::min(step, end - at));
    };
    at::_fused_adamw_({part(unit.master)}, {part(unit.flat.gradient)}, {part(unit.mean)},
                      {part(unit.mean_square)}, /*max_exp_avg_sqs=*/{}, {steps_}, lr, config_.beta1,
                      config_.beta2, decay, config_.epsilon, /*amsgrad=*/false, /*maximize=*/false,
                      divisor.defined() ? std::optional(divisor.to(at::kFloat)) : std::nullopt,
                      skipped);
    if (own) part(unit.flat.weight).copy_(part(unit.master));
  }
}

std::vector<UnitState> Optimizer::unit_states() const {
  std::vector<UnitState> states;
  for (const Unit& unit : units_)
    states.push_back({unit.flat.name, unit.master, unit.mean, unit.mean_square});
  return states;
}

std::vector<NamedTensor> Optimizer::other_state() const {
  return {{"optimizer.steps", steps_},
          {"optimizer.guard.history", guard_.history()},
          {"optimizer.guard.seen", guard_.seen()}};
}

}  // namespace shoal::optim

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

// The update of a range by the kernel of its kind; `divisor` may be undefined.
struct Kernel {
  const config::OptimizerConfig& config;
  double lr;
  double decay;
  const at::Tensor& steps;
  std::optional<at::Tensor> divisor;
  const at::Tensor& skipped;

  void adamw(const at::Tensor& weight,
             const at::Tensor& gradient,
             const at::Tensor& mean,
             const at::Tensor& mean_square) const {
    at::_fused_adamw_({weight}, {gradient}, {mean}, {mean_square}, /*max_exp_avg_sqs=*/{}, {steps},
                      lr, config.beta1, config.beta2, decay, config.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, divisor, skipped);
  }

  // Not the "first step" of the kernel: the mean begins with zeros, which comes to the same.
  void sgd(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& mean) const {
    at::_fused_sgd_({weight}, {gradient}, {mean}, decay, config.momentum, lr, /*dampening=*/0,
                    /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false, divisor,
                    skipped);
  }
};

}  // namespace

Optimizer::Optimizer(const config::OptimizerConfig& config,
                     std::vector<FlatUnit> units,
                     SumOverRanks sum_over_ranks)
    : config_(config),
      sum_over_ranks_(std::move(sum_over_ranks)),
      steps_(at::zeros({}, units.at(0).weight.options().dtype(at::kFloat))),
      guard_(config.skip_spikes, units.at(0).weight.options()) {
  for (FlatUnit& flat : units) {
    Unit unit{.flat = std::move(flat)};
    const at::Tensor& weight = unit.flat.weight;
    unit.master = has_own_master(weight) ? weight.to(at::kFloat) : weight;
    unit.mean = at::zeros_like(unit.master);
    if (config.kind != config::OptimizerKind::kSgd) unit.mean_square = at::zeros_like(unit.master);
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
  at::Tensor norm = gradient_norm();
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

at::Tensor Optimizer::gradient_norm() const {
  std::vector<at::Tensor> norms = {at::zeros({}, units_.front().flat.gradient.options())};
  for (const Unit& unit : units_) {
    for (const Range& range : unit.flat.ranges) {
      if (range.counts && range.begin < range.end)
        norms.push_back(at::linalg_vector_norm(
            unit.flat.gradient.narrow(0, range.begin, range.end - range.begin)));
    }
  }
  at::Tensor norm = at::linalg_vector_norm(at::stack(norms));
  if (!sum_over_ranks_) return norm;
  norm.square_();
  sum_over_ranks_(norm);
  return norm.sqrt_();
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
  const bool by_muon = config_.kind == config::OptimizerKind::kMuon && !unit.flat.matrices.empty();
  for (const Range& range : unit.flat.ranges) {
    if (!by_muon || !range.decays) update_range(unit, range, lr, by, skipped);
  }
  if (!by_muon) return;
  for (const Matrix& matrix : unit.flat.matrices) {
    const auto view = [&](const at::Tensor& flat) {
      return flat.narrow(0, matrix.offset, matrix.rows * matrix.columns)
          .view({matrix.rows, matrix.columns});
    };
    update_by_muon(view(unit.master), view(unit.flat.gradient), view(unit.mean),
                   {.lr = lr, .momentum = config_.momentum, .weight_decay = config_.weight_decay},
                   by, skipped);
    if (has_own_master(unit.flat.weight)) view(unit.flat.weight).copy_(view(unit.master));
  }
}

void Optimizer::update_range(Unit& unit,
                             const Range& range,
                             double lr,
                             const at::Tensor& divisor,
                             const at::Tensor& skipped) {
  const Kernel kernel{
      .config = config_,
      .lr = lr,
      .decay = range.decays ? config_.weight_decay : 0,
      .steps = steps_,
      .divisor = divisor.defined() ? std::optional(divisor.to(at::kFloat)) : std::nullopt,
      .skipped = skipped};
  const bool own = has_own_master(unit.flat.weight);
  const int64_t step = own ? kAtOnce : std::max<int64_t>(range.end - range.begin, 1);
  for (int64_t at = range.begin; at < range.end; at += step) {
    const auto part = [&](const at::Tensor& flat) {
      return flat.narrow(0, at, std::min(step, range.end - at));
    };
    if (config_.kind == config::OptimizerKind::kSgd) {
      kernel.sgd(part(unit.master), part(unit.flat.gradient), part(unit.mean));
    } else {
      kernel.adamw(part(unit.master), part(unit.flat.gradient), part(unit.mean),
                   part(unit.mean_square));
    }
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

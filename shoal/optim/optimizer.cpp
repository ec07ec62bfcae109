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

void check_ranges(const FlatUnit& unit) {
  int64_t end = 0;
  for (const Range& range : unit.ranges) {
    SHOAL_CHECK(range.begin >= end && range.end >= range.begin && range.end <= unit.weight.numel(),
                "{}: elements [{}, {}) behind {} of {} would be updated twice, or are not there",
                unit.name, range.begin, range.end, end, unit.weight.numel());
    end = range.end;
  }
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

// Of a flat tensor, in pieces and their norms in turn. On a CPU libtorch adds up all squares one after the other: of 30 million
// elements in fp32 a norm is 0.2 % too small, so that clipping would depend on how they are cut into shards.
at::Tensor norm_of(const at::Tensor& flat) {
  constexpr int64_t kPiece = 1 << 14;
  const int64_t whole = flat.numel() / kPiece * kPiece;
  if (whole == 0) return at::linalg_vector_norm(flat);
  const at::Tensor pieces = flat.narrow(0, 0, whole).view({-1, kPiece});
  const at::Tensor rest = flat.narrow(0, whole, flat.numel() - whole);
  return norm_of(at::cat({at::linalg_vector_norm(pieces, 2, at::IntArrayRef{1}),
                          at::linalg_vector_norm(rest).view({1})}));
}

}  // namespace

// Muon's part in an update: the rest is AdamW's.
class Optimizer::MuonUpdate final : public MatrixUpdate {
 public:
  MuonUpdate(Optimizer& optimizer, const Step& step)
      : units_(optimizer.units_),
        step_(step),
        options_{.lr = step.lr,
                 .momentum = optimizer.config_.momentum,
                 .weight_decay = optimizer.config_.weight_decay} {}

  at::Tensor piece_to_turn(const MatrixPiece& piece) override {
    const Unit& unit = units_[piece.unit];
    return muon_direction(part(unit.flat.gradient, piece), part(unit.mean, piece), options_,
                          step_.divisor, step_.skipped);
  }

  [[nodiscard]] at::Tensor turned(const at::Tensor& whole) const override {
    return muon_change(whole);
  }

  void apply(const MatrixPiece& piece, const at::Tensor& turned) override {
    const Unit& unit = units_[piece.unit];
    take_muon_step(part(unit.master, piece), turned, options_, step_.skipped);
    if (has_own_master(unit.flat.weight))
      part(unit.flat.weight, piece).copy_(part(unit.master, piece));
  }

  [[nodiscard]] at::TensorOptions options() const override {
    return units_.front().master.options();
  }

 private:
  static at::Tensor part(const at::Tensor& flat, const MatrixPiece& piece) {
    return flat.narrow(0, piece.offset, piece.count);
  }

  const std::vector<Unit>& units_;
  const Step& step_;
  MuonOptions options_;
};

Optimizer::Optimizer(const config::OptimizerConfig& config, Trainable trainable)
    : config_(config),
      sum_over_ranks_(std::move(trainable.sum_over_ranks)),
      steps_(at::zeros({}, trainable.units.at(0).weight.options().dtype(at::kFloat))),
      guard_(config.skip_spikes, trainable.units.at(0).weight.options()) {
  if (config.kind == config::OptimizerKind::kMuon) {
    SHOAL_CHECK(trainable.for_each_matrix, "muon is not told how matrices become whole");
    for_each_matrix_ = std::move(trainable.for_each_matrix);
  }
  for (FlatUnit& flat : trainable.units) {
    check_ranges(flat);
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
  Step step{.lr = lr, .divisor = divisor, .skipped = skipped};
  if (units_.front().master.scalar_type() == at::kDouble) {  // fused updates take only a float
    for (const Unit& unit : units_) unit.flat.gradient.div_(divisor);
    step.divisor = at::Tensor();
  }
  for (Unit& unit : units_) {
    for (const Range& range : unit.flat.ranges) {
      if (!for_each_matrix_ || !range.turned) update_range(unit, range, step);
    }
  }
  if (for_each_matrix_) {
    MuonUpdate by_muon(*this, step);
    for_each_matrix_(by_muon);
  }
  return {norm, skipped};
}

at::Tensor Optimizer::gradient_norm() const {
  std::vector<at::Tensor> norms = {at::zeros({}, units_.front().flat.gradient.options())};
  for (const Unit& unit : units_) {
    for (const Range& range : unit.flat.ranges) {
      if (range.counts && range.begin < range.end)
        norms.push_back(
            norm_of(unit.flat.gradient.narrow(0, range.begin, range.end - range.begin)));
    }
  }
  at::Tensor norm = at::linalg_vector_norm(at::stack(norms));
  if (!sum_over_ranks_) return norm;
  norm.square_();
  sum_over_ranks_(norm);
  return norm.sqrt_();
}

void Optimizer::update_range(Unit& unit, const Range& range, const Step& step) {
  const Kernel kernel{
      .config = config_,
      .lr = step.lr,
      .decay = range.decays ? config_.weight_decay : 0,
      .steps = steps_,
      .divisor = step.divisor.defined() ? std::optional(step.divisor.to(at::kFloat)) : std::nullopt,
      .skipped = step.skipped};
  const bool own = has_own_master(unit.flat.weight);
  const int64_t at_once = own ? kAtOnce : std::max<int64_t>(range.end - range.begin, 1);
  for (int64_t at = range.begin; at < range.end; at += at_once) {
    const auto part = [&](const at::Tensor& flat) {
      return flat.narrow(0, at, std::min(at_once, range.end - at));
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

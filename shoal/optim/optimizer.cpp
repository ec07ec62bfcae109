#include "shoal/optim/optimizer.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/optim/muon.h"

namespace shoal::optim {
namespace {

// Elements per update and copy to half precision, so that the copy finds them in the cache.
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

// Updates a range with the fused kernel of the optimizer's kind; `divisor` may be undefined.
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

  // The kernel's `is_first_step` is not used: the mean begins with zeros, which gives the same.
  void sgd(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& mean) const {
    at::_fused_sgd_({weight}, {gradient}, {mean}, decay, config.momentum, lr, /*dampening=*/0,
                    /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false, divisor,
                    skipped);
  }
};

// Returns the norm of a flat tensor from the norms of its pieces. On a CPU libtorch sums all
// squares one after the other: with 30 million elements in fp32 a norm is 0.2 % too small, and
// clipping would depend on the sharding.
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

// Muon's part of an update; AdamW updates the rest.
class Optimizer::MuonUpdate final : public MatrixUpdate {
 public:
  explicit MuonUpdate(const Optimizer& optimizer) : optimizer_(optimizer) {}

  at::Tensor momentum_of(const MatrixPiece& piece) override {
    const Unit& unit = optimizer_.units_[piece.unit];
    return muon_direction(part(unit.flat.gradient, piece), part(unit.mean, piece), options(),
                          optimizer_.divisor_, optimizer_.result_.skipped);
  }

  [[nodiscard]] at::Tensor orthogonalized(const at::Tensor& whole) const override {
    return muon_change(whole);
  }

  void apply(const MatrixPiece& piece, const at::Tensor& change) override {
    const Unit& unit = optimizer_.units_[piece.unit];
    take_muon_step(part(unit.master, piece), change, options(), optimizer_.result_.skipped);
    if (has_own_master(unit.flat.weight))
      part(unit.flat.weight, piece).copy_(part(unit.master, piece));
  }

  [[nodiscard]] at::TensorOptions tensor_options() const override {
    return optimizer_.units_.front().master.options();
  }

 private:
  [[nodiscard]] MuonOptions options() const {
    return {.lr = optimizer_.lr_,
            .momentum = optimizer_.config_.momentum,
            .weight_decay = optimizer_.config_.weight_decay};
  }

  static at::Tensor part(const at::Tensor& flat, const MatrixPiece& piece) {
    return flat.narrow(0, piece.offset, piece.count);
  }

  const Optimizer& optimizer_;
};

Optimizer::Optimizer(const config::OptimizerConfig& config, std::vector<FlatUnit> units)
    : config_(config),
      steps_(at::zeros({}, units.at(0).weight.options().dtype(at::kFloat))),
      guard_(config.skip_spikes, units.at(0).weight.options()) {
  if (config.kind == config::OptimizerKind::kMuon) matrices_ = std::make_unique<MuonUpdate>(*this);
  for (FlatUnit& flat : units) {
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

Optimizer::~Optimizer() = default;

void Optimizer::weights_from_masters() {
  const at::NoGradGuard no_grad;
  for (Unit& unit : units_) {
    if (has_own_master(unit.flat.weight)) unit.flat.weight.copy_(unit.master);
  }
}

void Optimizer::begin(double lr, const at::Tensor& gradient_scale) {
  lr_ = lr;
  gradient_scale_ = divisor_ = gradient_scale;
  result_ = {};
}

at::Tensor Optimizer::squared_norm() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms = {at::zeros({}, units_.front().flat.gradient.options())};
  for (const Unit& unit : units_) {
    for (const Range& range : unit.flat.ranges) {
      if (range.counts && range.begin < range.end)
        norms.push_back(
            norm_of(unit.flat.gradient.narrow(0, range.begin, range.end - range.begin)));
    }
  }
  return at::linalg_vector_norm(at::stack(norms)).square_();
}

void Optimizer::judge(const at::Tensor& loss, const at::Tensor& squared_norm) {
  const at::NoGradGuard no_grad;
  at::Tensor norm = squared_norm.sqrt();
  if (gradient_scale_.defined()) norm = norm / gradient_scale_;
  result_ = {.gradient_norm = norm, .skipped = guard_.judge(loss, norm)};
  // Clipping divides gradients by a factor above one to bring their norm down to the limit.
  divisor_ = at::ones_like(norm);
  if (config_.clip > 0) divisor_ = ((norm + 1e-6) / config_.clip).clamp_min(1);
  if (gradient_scale_.defined()) divisor_ = divisor_ * gradient_scale_;
  steps_.add_(1 - result_.skipped.squeeze(0));
  if (units_.front().master.scalar_type() ==
      at::kDouble) {  // fused updates take a float divisor only
    for (const Unit& unit : units_) unit.flat.gradient.div_(divisor_);
    divisor_ = at::Tensor();
  }
}

void Optimizer::update(size_t unit) {
  const at::NoGradGuard no_grad;
  for (const Range& range : units_[unit].flat.ranges) {
    if (!matrices_ || !range.orthogonalized) update_range(units_[unit], range);
  }
}

MatrixUpdate* Optimizer::matrices() { return matrices_.get(); }

void Optimizer::update_range(Unit& unit, const Range& range) {
  const Kernel kernel{
      .config = config_,
      .lr = lr_,
      .decay = range.decays ? config_.weight_decay : 0,
      .steps = steps_,
      .divisor = divisor_.defined() ? std::optional(divisor_.to(at::kFloat)) : std::nullopt,
      .skipped = result_.skipped};
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

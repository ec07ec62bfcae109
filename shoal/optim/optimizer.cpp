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

at::Tensor narrowed(const at::Tensor& flat, const Range& range) {
  return flat.narrow(0, range.begin, range.end - range.begin);
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

std::vector<at::Tensor> norms_of(const std::vector<at::Tensor>& parts) {
  if (parts.front().is_cuda()) return at::_foreach_norm(parts);
  std::vector<at::Tensor> norms;
  for (const at::Tensor& part : parts) norms.push_back(norm_of(part));
  return norms;
}

}  // namespace

// Parts of flat tensors that are updated alike.
struct Optimizer::Parts {
  std::vector<at::Tensor> masters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first_moments;
  std::vector<at::Tensor> second_moments;

  void append(const Unit& unit, const Range& range) {
    masters.push_back(narrowed(unit.master, range));
    gradients.push_back(narrowed(unit.flat.gradient, range));
    first_moments.push_back(narrowed(unit.first_moment, range));
    if (unit.second_moment.defined()) second_moments.push_back(narrowed(unit.second_moment, range));
  }
};

// Updates parts with the fused kernel of the optimizer's kind; `divisor` may be undefined.
struct Optimizer::Kernel {
  const config::OptimizerConfig& config;
  double lr;
  double decay;
  const at::Tensor& steps;
  std::optional<at::Tensor> divisor;
  const at::Tensor& skipped;

  void operator()(const Parts& parts) const {
    if (parts.masters.empty()) return;
    if (config.kind == config::OptimizerKind::kSgd) {
      // `is_first_step` is not used: the moment begins with zeros, which gives the same.
      at::_fused_sgd_(parts.masters, parts.gradients, parts.first_moments, decay, config.momentum,
                      lr, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                      /*is_first_step=*/false, divisor, skipped);
      return;
    }
    const std::vector<at::Tensor> all_steps(parts.masters.size(), steps);
    at::_fused_adamw_(parts.masters, parts.gradients, parts.first_moments, parts.second_moments,
                      /*max_exp_avg_sqs=*/{}, all_steps, lr, config.beta1, config.beta2, decay,
                      config.epsilon, /*amsgrad=*/false, /*maximize=*/false, divisor, skipped);
  }
};

// Muon's part of an update; AdamW updates the rest.
class Optimizer::MuonUpdate final : public MatrixUpdate {
 public:
  explicit MuonUpdate(const Optimizer& optimizer) : optimizer_(optimizer) {}

  at::Tensor momentum_of(const MatrixPiece& piece) override {
    const Unit& unit = optimizer_.units_[piece.unit];
    return muon_direction(part(unit.flat.gradient, piece), part(unit.first_moment, piece),
                          options(), optimizer_.divisor_, optimizer_.result_.skipped);
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
    unit.first_moment = at::zeros_like(unit.master);
    if (config.kind != config::OptimizerKind::kSgd)
      unit.second_moment = at::zeros_like(unit.master);
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
  std::vector<at::Tensor> counted;
  for (const Unit& unit : units_) {
    for (const Range& range : unit.flat.ranges) {
      if (range.counts && range.begin < range.end)
        counted.push_back(narrowed(unit.flat.gradient, range));
    }
  }
  const at::TensorOptions options = units_.front().flat.gradient.options();
  if (counted.empty()) return at::zeros({}, options);
  return at::linalg_vector_norm(at::stack(norms_of(counted))).square_();
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
    // The gradients of a skipped step stay as they are: a replay compares them.
    const at::Tensor divisor =
        at::where(result_.skipped.squeeze(0).to(at::kBool), at::ones_like(divisor_), divisor_);
    for (const Unit& unit : units_) unit.flat.gradient.div_(divisor);
    divisor_ = at::Tensor();
  }
}

void Optimizer::update(std::span<const size_t> units) {
  const at::NoGradGuard no_grad;
  // A launch takes longer than a small tensor: a GPU gets all of them at once.
  if (units_.front().master.is_cuda()) return update_at_once(units);
  for (const size_t unit : units) {
    for (const Range& range : units_[unit].flat.ranges) {
      if (is_mine(range)) update_range(units_[unit], range);
    }
  }
}

bool Optimizer::is_mine(const Range& range) const {
  return range.begin < range.end && !(matrices_ && range.orthogonalized);
}

MatrixUpdate* Optimizer::matrices() { return matrices_.get(); }

Optimizer::Kernel Optimizer::kernel(bool decays) const {
  return {.config = config_,
          .lr = lr_,
          .decay = decays ? config_.weight_decay : 0,
          .steps = steps_,
          .divisor = divisor_.defined() ? std::optional(divisor_.to(at::kFloat)) : std::nullopt,
          .skipped = result_.skipped};
}

void Optimizer::update_range(Unit& unit, const Range& range) {
  const Kernel update = kernel(range.decays);
  const bool own = has_own_master(unit.flat.weight);
  const int64_t at_once = own ? kAtOnce : range.end - range.begin;
  for (int64_t at = range.begin; at < range.end; at += at_once) {
    const Range part{.begin = at, .end = std::min(at + at_once, range.end)};
    Parts parts;
    parts.append(unit, part);
    update(parts);
    if (own) narrowed(unit.flat.weight, part).copy_(parts.masters.front());
  }
}

void Optimizer::update_at_once(std::span<const size_t> units) {
  for (const bool decays : {true, false}) {
    Parts parts;
    std::vector<at::Tensor> weights;
    for (const size_t unit : units) {
      for (const Range& range : units_[unit].flat.ranges) {
        if (!is_mine(range) || range.decays != decays) continue;
        parts.append(units_[unit], range);
        if (has_own_master(units_[unit].flat.weight))
          weights.push_back(narrowed(units_[unit].flat.weight, range));
      }
    }
    kernel(decays)(parts);
    if (!weights.empty()) at::_foreach_copy_(weights, parts.masters);
  }
}

std::vector<UnitState> Optimizer::unit_states() const {
  std::vector<UnitState> states;
  for (const Unit& unit : units_)
    states.push_back({unit.flat.name, unit.master, unit.first_moment, unit.second_moment});
  return states;
}

std::vector<NamedTensor> Optimizer::other_state() const {
  return {{"optimizer.steps", steps_},
          {"optimizer.guard.history", guard_.history()},
          {"optimizer.guard.seen", guard_.seen()}};
}

}  // namespace shoal::optim

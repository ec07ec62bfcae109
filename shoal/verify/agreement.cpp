#include "shoal/verify/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/blueprint/decoder.h"
#include "shoal/plan/layout.h"
#include "shoal/verify/side.h"

namespace shoal::verify {
namespace {

using parallel::ParallelModel;
using parallel::Ranks;

double largest(const at::Tensor& x) { return x.numel() == 0 ? 0 : x.abs().max().item<double>(); }

enum class What { kInitial, kGradient, kWeight };

// The holdings of a model by name: a tied matrix can be on two stages.
class Holdings {
 public:
  explicit Holdings(const ParallelModel& model) : model_(model) {
    for (const plan::Holding& holding : model.holdings())
      holdings_.emplace(holding.weight->name, holding);
  }

  // Calls visit(this rank's elements, holding) for what this rank holds of `name`.
  template <class Visit>
  void for_each(const std::string& name, What what, Visit&& visit) const {
    const auto [begin, end] = holdings_.equal_range(name);
    for (auto it = begin; it != end; ++it) {
      const plan::Holding& holding = it->second;
      visit(what == What::kGradient ? model_.gradient_of(holding) : model_.weight_of(holding),
            holding);
    }
  }

 private:
  const ParallelModel& model_;
  std::multimap<std::string, plan::Holding> holdings_;
};

// Broadcasts the logical tensors of sides that rank 0 trains alone.
class Reference {
 public:
  // Rank 0 passes as many `sides` as there are; other ranks pass none.
  Reference(const config::RunConfig& config,
            comm::Control& all,
            int64_t num_sides,
            std::vector<Holdings> sides)
      : all_(all),
        num_sides_(num_sides),
        sides_(std::move(sides)),
        units_(blueprint::units_of(config.model, blueprint::UnitRange::all(config.model))) {}

  // Calls visit(name, tensors of each side, in fp64) on all ranks.
  template <class Visit>
  void for_each(What what, Visit&& visit) {
    for (const blueprint::UnitBlueprint& unit : units_) {
      if (unit.layout.elements == 0) continue;
      const at::Tensor flat = at::zeros({num_sides_, unit.layout.elements}, at::kDouble);
      for (size_t side = 0; side < sides_.size(); ++side) {
        for (size_t i = 0; i < unit.weights.size(); ++i) {
          const at::Tensor whole = view_of(flat[static_cast<int64_t>(side)], unit, i).view(-1);
          sides_[side].for_each(
              unit.weights[i].name, what,
              [&](const at::Tensor& held, const plan::Holding&) { whole.copy_(held); });
        }
      }
      all_.broadcast(flat, 0, "what one rank has in " + unit.name);
      for (size_t i = 0; i < unit.weights.size(); ++i) {
        std::vector<at::Tensor> tensors;
        for (int64_t side = 0; side < num_sides_; ++side)
          tensors.push_back(view_of(flat[side], unit, i));
        visit(unit.weights[i].name, tensors);
      }
    }
  }

 private:
  static at::Tensor view_of(const at::Tensor& flat,
                            const blueprint::UnitBlueprint& unit,
                            size_t weight) {
    const blueprint::WeightSpec& spec = unit.weights[weight];
    return flat.narrow(0, unit.layout.offsets[weight], spec.local_elements()).view(spec.shape);
  }

  comm::Control& all_;
  int64_t num_sides_;
  std::vector<Holdings> sides_;
  std::vector<blueprint::UnitBlueprint> units_;
};

// Takes the maximum, where NaN counts as the largest.
void raise(double& worst, double difference) {
  if (!(difference <= worst)) worst = difference;
}

// Takes the maximum over ranks; NaN when any rank has one.
void share(comm::Control& all, Agreement& found) {
  std::vector<double*> figures = {&found.loss,     &found.norm,     &found.largest_gradient,
                                  &found.own_loss, &found.own_norm, &found.largest_weight};
  for (auto& [name, difference] : found.tensors) {
    figures.push_back(&difference.initial);
    figures.push_back(&difference.gradient);
    figures.push_back(&difference.weight);
  }
  const at::Tensor values = at::empty({static_cast<int64_t>(figures.size())}, at::kDouble);
  auto* const raw = values.data_ptr<double>();
  for (size_t i = 0; i < figures.size(); ++i)
    raw[i] = std::isnan(*figures[i]) ? HUGE_VAL : *figures[i];
  all.all_reduce(values, comm::Reduce::kMax, "largest differences");
  for (size_t i = 0; i < figures.size(); ++i) *figures[i] = raw[i];
}

// Moves weights by one ulp: how far two runs then differ shows how much the model amplifies
// round-off.
void move_by_last_place(Side& side) {
  side.model().set_masters([&] {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& weights : side.model().masters())
      weights.mul_(1 + std::numeric_limits<double>::epsilon());
  });
}

// Accumulates sums of squares for Distances.
class Errors {
 public:
  // One rank's whole tensor is the same on every rank.
  void add_one_rank(Distance TensorDifference::*of,
                    const std::string& name,
                    const at::Tensor& one_rank,
                    const at::Tensor& exact) {
    Squares& squares = sums_[{name, of == &TensorDifference::weight_error}];
    squares.one_rank += (one_rank - exact).square().sum().item<double>();
    squares.exact += exact.square().sum().item<double>();
    squares.elements += static_cast<double>(exact.numel());
    squares.of_step = exact.numel();
  }
  // An element of the layout may be on several ranks.
  void add_layout(Distance TensorDifference::*of, const std::string& name, const at::Tensor& by) {
    Squares& squares = sums_[{name, of == &TensorDifference::weight_error}];
    squares.layout += by.square().sum().item<double>();
    squares.held += static_cast<double>(by.numel());
  }

  void share(comm::Control& all, Agreement& found) const {
    std::vector<double> held;
    for (const auto& [key, squares] : sums_) {
      held.push_back(squares.layout);
      held.push_back(squares.held);
    }
    const at::Tensor values = at::tensor(held, at::kDouble);
    all.all_reduce(values, comm::Reduce::kSum, "distances from fp64");
    const double* next = values.data_ptr<double>();
    for (const auto& [key, squares] : sums_) {
      TensorDifference& tensor = found.tensors[key.first];
      const double layout = *next++;
      (key.second ? tensor.weight_error : tensor.gradient_error) = {
          .one_rank = std::sqrt(squares.one_rank / squares.elements),
          .layout = std::sqrt(layout / *next++),
          .size = std::sqrt(squares.exact / squares.elements),
          .elements = squares.of_step};
    }
  }

 private:
  struct Squares {
    double one_rank = 0;
    double exact = 0;
    double elements = 0;  // over all steps
    int64_t of_step = 0;
    double layout = 0;
    double held = 0;  // number of the layout's elements on this rank
  };

  std::map<std::pair<std::string, bool>, Squares> sums_;  // by name, and whether it is a weight
};

}  // namespace

TensorDifference Agreement::worst() const {
  TensorDifference worst;
  for (const auto& [name, difference] : tensors) {
    raise(worst.initial, difference.initial);
    raise(worst.gradient, difference.gradient);
    raise(worst.weight, difference.weight);
  }
  return worst;
}

Agreement compare_with_one_rank(const config::RunConfig& config,
                                comm::World& world,
                                const CompareOptions& options) {
  config::RunConfig plain = config;
  plain.parallel = {};
  plain.train.micro_batch = std::nullopt;
  config::RunConfig exact = plain;
  exact.train.precision = config::Precision::kFp64;
  const bool is_exact = config.train.precision == config::Precision::kFp64;
  comm::Control& all = world.control();  // compares on CPUs, whatever the device
  const Ranks alone = Ranks::alone(world);
  const Ranks ranks(world, config);  // the last group: no further connections are accepted

  Side layout(config, ranks, options.block);
  // On rank 0: one side in the layout's precision and one in fp64; when the layout computes in
  // fp64, the second begins one ulp away.
  std::vector<std::unique_ptr<Side>> sides;
  if (world.rank() == 0) {
    sides.push_back(std::make_unique<Side>(plain, alone, options.block));
    sides.push_back(std::make_unique<Side>(exact, alone, options.block));
    if (is_exact) move_by_last_place(*sides.back());
  }
  std::vector<Holdings> of_one_rank;
  for (const auto& side : sides) of_one_rank.emplace_back(side->model());
  Reference reference(config, all, /*num_sides=*/2, std::move(of_one_rank));
  const Holdings holdings(layout.model());
  Errors errors;
  Agreement found{
      .steps = options.steps, .resumed = options.resume != nullptr, .lr = config.optimizer.lr};
  const auto compare = [&](What what, double TensorDifference::*field,
                           Distance TensorDifference::*error) {
    // Calls visit(layout - whole) for what this rank holds of a tensor.
    const auto differences = [&](const std::string& name, const at::Tensor& whole, auto&& visit) {
      holdings.for_each(name, what, [&](const at::Tensor& mine, const plan::Holding& holding) {
        visit(mine.to(at::kCPU, at::kDouble) - parallel::part_of(whole, holding));
      });
    };
    reference.for_each(what, [&](const std::string& name, const std::vector<at::Tensor>& wholes) {
      raise(what == What::kGradient ? found.largest_gradient : found.largest_weight,
            largest(wholes.front()));
      raise(found.tensors[name].*field, 0);
      differences(name, wholes.front(), [&](const at::Tensor& difference) {
        raise(found.tensors[name].*field, largest(difference));
      });
      if (error == nullptr) return;
      if (is_exact) {
        double TensorDifference::*const own = what == What::kGradient
                                                  ? &TensorDifference::own_gradient
                                                  : &TensorDifference::own_weight;
        return raise(found.tensors[name].*own, largest(wholes.front() - wholes.back()));
      }
      errors.add_one_rank(error, name, wholes.front(), wholes.back());
      differences(name, wholes.back(), [&](const at::Tensor& difference) {
        errors.add_layout(error, name, difference);
      });
    });
  };
  const auto compare_scalars = [&](double& worst, const at::Tensor& theirs,
                                   const at::Tensor& ours) {
    const at::Tensor expected =
        theirs.defined() ? theirs.to(at::kCPU, at::kDouble).view({1}) : at::zeros({1}, at::kDouble);
    all.broadcast(expected, 0, "what one rank has");
    raise(worst, std::abs(expected.item<double>() - ours.item<double>()));
    return expected.item<double>();
  };
  // Returns the first side's value, and sets the other side's difference from it, if there is one.
  const auto of_sides = [&](const auto& take, double& own) {
    if (sides.empty()) return at::Tensor();
    const at::Tensor first = take(*sides.front());
    const at::Tensor other = take(*sides.back());
    if (is_exact) raise(own, (first - other).abs().item<double>());
    return first;
  };

  const auto losses_of_sides = [&](int64_t step) {
    return of_sides([&](Side& side) { return side.gradients_of(step); }, found.own_loss);
  };
  const auto norms_of_sides = [&] {
    return of_sides([](Side& side) { return side.update(); }, found.own_norm);
  };

  for (int64_t step = 0; step < options.steps_before; ++step) {
    losses_of_sides(step);
    norms_of_sides();
  }
  if (options.resume) options.resume(layout);
  compare(What::kInitial, &TensorDifference::initial, nullptr);
  for (int64_t step = options.steps_before; step < options.steps_before + options.steps; ++step) {
    const at::Tensor theirs = losses_of_sides(step);
    const at::Tensor ours = layout.gradients_of(step);
    found.losses.push_back(compare_scalars(found.loss, theirs, ours));
    found.layout_losses.push_back(ours.item<double>());
    if (options.tamper) options.tamper(layout.model(), step);
    compare(What::kGradient, &TensorDifference::gradient, &TensorDifference::gradient_error);
    const at::Tensor norm = norms_of_sides();
    raise(found.largest_norm, compare_scalars(found.norm, norm, layout.update()));
    compare(What::kWeight, &TensorDifference::weight, &TensorDifference::weight_error);
  }
  share(all, found);
  if (!is_exact) errors.share(all, found);
  return found;
}

}  // namespace shoal::verify

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

const at::Tensor& shard_of(const ParallelModel& model, const plan::Holding& holding, What what) {
  const parallel::UnitGroup& group = *model.groups()[holding.group];
  return what == What::kGradient ? group.shard_gradient() : group.shard();
}

// Returns this rank's elements of a weight, or of its gradient.
at::Tensor held(const ParallelModel& model, const plan::Holding& holding, What what) {
  return shard_of(model, holding, what).narrow(0, holding.offset, holding.count);
}

// Broadcasts the logical tensors of sides that rank 0 trains alone.
class Reference {
 public:
  Reference(const config::RunConfig& config, comm::Group all, int64_t sides)
      : all_(std::move(all)),
        sides_(sides),
        units_(blueprint::units_of(config.model, blueprint::UnitRange::all(config.model))) {}

  // Calls visit(name, tensors of each side, in fp64) on all ranks. `sides` is set on rank 0 only.
  template <class Visit>
  void for_each(const std::vector<const Side*>& sides, What what, Visit&& visit) {
    for (const blueprint::UnitBlueprint& unit : units_) {
      if (unit.layout.elements == 0) continue;
      const at::Tensor flat = at::zeros({sides_, unit.layout.elements}, at::kDouble);
      for (size_t i = 0; i < sides.size(); ++i)
        fill(flat[static_cast<int64_t>(i)], unit, sides[i]->model(), what);
      all_.broadcast(flat, 0, "what one rank has in " + unit.name).wait();
      for (size_t i = 0; i < unit.weights.size(); ++i) {
        std::vector<at::Tensor> tensors;
        for (int64_t side = 0; side < sides_; ++side)
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

  static void fill(const at::Tensor& flat,
                   const blueprint::UnitBlueprint& unit,
                   const ParallelModel& model,
                   What what) {
    for (const plan::Holding& holding : model.holdings()) {
      for (size_t i = 0; i < unit.weights.size(); ++i) {
        if (unit.weights[i].name == holding.weight->name)
          view_of(flat, unit, i).view(-1).copy_(held(model, holding, what));
      }
    }
  }

  comm::Group all_;
  int64_t sides_;
  std::vector<blueprint::UnitBlueprint> units_;
};

// The layout's holdings by name: a tied matrix can be on two stages.
class Holdings {
 public:
  explicit Holdings(const ParallelModel& model) : model_(model) {
    for (const plan::Holding& holding : model.holdings())
      holdings_.emplace(holding.weight->name, holding);
  }

  // Calls visit(this rank's elements, the same elements of `whole`) for what this rank holds of
  // `name`, in fp64.
  template <class Visit>
  void for_each(const std::string& name, const at::Tensor& whole, What what, Visit&& visit) const {
    const auto [begin, end] = holdings_.equal_range(name);
    for (auto it = begin; it != end; ++it)
      visit(held(model_, it->second, what).to(at::kDouble), parallel::part_of(whole, it->second));
  }

 private:
  const ParallelModel& model_;
  std::multimap<std::string, plan::Holding> holdings_;
};

// Takes the maximum, where NaN counts as the largest.
void raise(double& worst, double difference) {
  if (!(difference <= worst)) worst = difference;
}

// Takes the maximum over ranks; NaN when any rank has one.
void share(comm::Group& all, Agreement& found) {
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
  all.all_reduce(values, comm::Reduce::kMax, "largest differences").wait();
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

  void share(comm::Group& all, Agreement& found) const {
    std::vector<double> held;
    for (const auto& [key, squares] : sums_) {
      held.push_back(squares.layout);
      held.push_back(squares.held);
    }
    const at::Tensor values = at::tensor(held, at::kDouble);
    all.all_reduce(values, comm::Reduce::kSum, "distances from fp64").wait();
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
  std::vector<int> everybody(static_cast<size_t>(world.size()));
  for (size_t i = 0; i < everybody.size(); ++i) everybody[i] = static_cast<int>(i);
  comm::Group all = world.group("all", everybody);
  const Ranks alone = Ranks::alone(world, config.train.device);
  const Ranks ranks(world, config);  // the last group: no further connections are accepted

  Side layout(config, ranks);
  // On rank 0: one side in the layout's precision and one in fp64; when the layout computes in
  // fp64, the second begins one ulp away.
  std::vector<std::unique_ptr<Side>> sides;
  if (world.rank() == 0) {
    sides.push_back(std::make_unique<Side>(plain, alone));
    sides.push_back(std::make_unique<Side>(exact, alone));
    if (is_exact) move_by_last_place(*sides.back());
  }
  std::vector<const Side*> views;
  for (const auto& side : sides) views.push_back(side.get());
  Reference reference(config, all, /*sides=*/2);
  const Holdings holdings(layout.model());
  Errors errors;
  Agreement found{
      .steps = options.steps, .resumed = options.resume != nullptr, .lr = config.optimizer.lr};
  const auto compare = [&](What what, double TensorDifference::*field,
                           Distance TensorDifference::*error) {
    reference.for_each(
        views, what, [&](const std::string& name, const std::vector<at::Tensor>& wholes) {
          raise(what == What::kGradient ? found.largest_gradient : found.largest_weight,
                largest(wholes.front()));
          raise(found.tensors[name].*field, 0);
          holdings.for_each(name, wholes.front(), what,
                            [&](const at::Tensor& mine, const at::Tensor& theirs) {
                              raise(found.tensors[name].*field, largest(mine - theirs));
                            });
          if (error == nullptr) return;
          if (is_exact) {
            double TensorDifference::*const own = what == What::kGradient
                                                      ? &TensorDifference::own_gradient
                                                      : &TensorDifference::own_weight;
            return raise(found.tensors[name].*own, largest(wholes.front() - wholes.back()));
          }
          errors.add_one_rank(error, name, wholes.front(), wholes.back());
          holdings.for_each(name, wholes.back(), what,
                            [&](const at::Tensor& mine, const at::Tensor& theirs) {
                              errors.add_layout(error, name, mine - theirs);
                            });
        });
  };
  const auto compare_scalars = [&](double& worst, const at::Tensor& theirs,
                                   const at::Tensor& ours) {
    const at::Tensor expected =
        theirs.defined() ? theirs.to(at::kDouble).view({1}) : at::zeros({1}, at::kDouble);
    all.broadcast(expected, 0, "what one rank has").wait();
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

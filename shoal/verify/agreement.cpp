#include "shoal/verify/agreement.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/ATen.h>

#include "shoal/plan/layout.h"
#include "shoal/verify/side.h"

namespace shoal::verify {
namespace {

using parallel::ParallelModel;
using parallel::Ranks;

double largest(const at::Tensor& x) { return x.numel() == 0 ? 0 : x.abs().max().item<double>(); }

enum class What { kInitial, kGradient, kWeight };

// Rank 0's logical tensors, as all ranks get to see them.
class Reference {
 public:
  Reference(const config::RunConfig& config, comm::Group all)
      : all_(std::move(all)), builder_(model::BuilderOptions{}), shape_(config.model, builder_) {}

  // Calls visit(name, tensor) for each, on all ranks. `side` only on rank 0.
  template <class Visit>
  void for_each(const Side* side, What what, at::ScalarType type, Visit&& visit) {
    for (size_t u = 0; u < shape_.units().size(); ++u) {
      model::UnitWeights& unit = shape_.units()[u]->weights();
      if (unit.elements() == 0) continue;
      const at::Tensor flat = at::zeros({unit.elements()}, type);
      if (side != nullptr) fill(flat, unit, *side, what);
      all_.broadcast(flat, 0, "what one rank has in " + unit.name()).wait();
      const std::vector<at::Tensor> views = unit.views_of(flat);
      for (size_t i = 0; i < views.size(); ++i) visit(unit.spec(i).name, views[i]);
    }
  }

 private:
  static void fill(const at::Tensor& flat,
                   const model::UnitWeights& unit,
                   const Side& side,
                   What what) {
    const std::vector<at::Tensor> views = unit.views_of(flat);
    for (const auto& group : side.model().stages().front()->groups()) {
      const at::Tensor& from = what == What::kGradient ? group->shard_gradient() : group->shard();
      for (const parallel::Piece& piece : group->pieces()) {
        for (size_t i = 0; i < unit.size(); ++i) {
          if (unit.spec(i).name == piece.spec->name)
            views[i].view(-1).copy_(from.narrow(0, piece.offset, piece.count));
        }
      }
    }
  }

  comm::Group all_;
  model::PlainBuilder builder_;
  model::Decoder shape_;  // for names and places; it has no tensors
};

// The layout's pieces by name: a tied matrix can be on two stages.
class Pieces {
 public:
  explicit Pieces(const ParallelModel& model) {
    for (const auto& stage : model.stages()) {
      for (const auto& group : stage->groups()) {
        for (const parallel::Piece& piece : group->pieces())
          pieces_.emplace(piece.spec->name, Held{piece, group.get()});
      }
    }
  }

  // The largest difference of what this rank holds of `name`.
  [[nodiscard]] double difference(const std::string& name,
                                  const at::Tensor& whole,
                                  What what) const {
    double worst = 0;
    const auto [begin, end] = pieces_.equal_range(name);
    for (auto it = begin; it != end; ++it) {
      const auto& [piece, group] = it->second;
      const at::Tensor& from = what == What::kGradient ? group->shard_gradient() : group->shard();
      const at::Tensor mine = from.narrow(0, piece.offset, piece.count);
      const at::Tensor theirs = parallel::part_of(whole, piece);
      const double difference = largest(mine.to(at::kDouble) - theirs.to(at::kDouble));
      worst = std::isnan(difference) ? difference : std::max(worst, difference);
    }
    return worst;
  }

 private:
  struct Held {
    parallel::Piece piece;
    const parallel::UnitGroup* group;
  };

  std::multimap<std::string, Held> pieces_;
};

// A NaN is the largest of all differences.
void raise(double& worst, double difference) {
  if (!(difference <= worst)) worst = difference;
}

// The largest on any rank; NaN when any has one.
void share(comm::Group& all, Agreement& found) {
  std::vector<double*> figures = {&found.loss, &found.norm, &found.largest_gradient,
                                  &found.largest_weight};
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
  std::vector<int> everybody(static_cast<size_t>(world.size()));
  for (size_t i = 0; i < everybody.size(); ++i) everybody[i] = static_cast<int>(i);
  comm::Group all = world.group("all", everybody);
  const Ranks alone = Ranks::alone(world);
  const Ranks ranks(world, config);  // the last: it closes the doors

  Side layout(config, ranks);
  std::optional<Side> one;
  if (world.rank() == 0) one.emplace(plain, alone);
  Reference reference(config, all);
  const Pieces pieces(layout.model());
  Agreement found{
      .steps = options.steps, .resumed = options.resume != nullptr, .lr = config.optimizer.lr};
  const auto& groups = layout.model().stages().front()->groups();
  const at::ScalarType weight_type = groups.front()->shard().scalar_type();
  const at::ScalarType gradient_type = groups.front()->shard_gradient().scalar_type();
  const auto compare = [&](What what, double TensorDifference::*field) {
    reference.for_each(
        one ? &*one : nullptr, what, what == What::kGradient ? gradient_type : weight_type,
        [&](const std::string& name, const at::Tensor& whole) {
          raise(found.tensors[name].*field, pieces.difference(name, whole, what));
          raise(what == What::kGradient ? found.largest_gradient : found.largest_weight,
                largest(whole));
        });
  };
  const auto compare_scalars = [&](double& worst, const at::Tensor& theirs,
                                   const at::Tensor& ours) {
    const at::Tensor expected =
        one ? theirs.to(at::kDouble).view({1}) : at::zeros({1}, at::kDouble);
    all.broadcast(expected, 0, "what one rank has").wait();
    raise(worst, std::abs(expected.item<double>() - ours.item<double>()));
    return expected.item<double>();
  };

  for (int64_t step = 0; one && step < options.steps_before; ++step) {
    one->gradients_of(step);
    one->update(step);
  }
  if (options.resume) options.resume(layout);
  compare(What::kInitial, &TensorDifference::initial);
  for (int64_t step = options.steps_before; step < options.steps_before + options.steps; ++step) {
    at::Tensor theirs = one ? one->gradients_of(step) : at::Tensor();
    const at::Tensor ours = layout.gradients_of(step);
    found.losses.push_back(compare_scalars(found.loss, theirs, ours));
    found.layout_losses.push_back(ours.item<double>());
    if (options.tamper) options.tamper(layout.model(), step);
    compare(What::kGradient, &TensorDifference::gradient);
    theirs = one ? one->update(step) : at::Tensor();
    raise(found.largest_norm, compare_scalars(found.norm, theirs, layout.update(step)));
    compare(What::kWeight, &TensorDifference::weight);
  }
  share(all, found);
  return found;
}

}  // namespace shoal::verify

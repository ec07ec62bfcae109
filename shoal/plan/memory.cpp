#include "shoal/plan/memory.h"

#include <algorithm>

#include "shoal/blueprint/activations.h"
#include "shoal/plan/rank_work.h"

namespace shoal::plan {
namespace {

using blueprint::ElementBytes;
using blueprint::PassShape;
using blueprint::UnitActivations;
using config::Recompute;
using config::RunConfig;
using config::UnitKind;

// What there is beside the state, and the most of it.
class Tide {
 public:
  void weights(int64_t bytes) { rise(now_.whole_weights, bytes); }
  void gradients(int64_t bytes) { rise(now_.whole_gradients, bytes); }
  void activations(int64_t bytes) { rise(now_.activations, bytes); }
  // There and gone.
  void for_a_moment(int64_t bytes) {
    activations(bytes);
    activations(-bytes);
  }

  [[nodiscard]] const Memory& highest() const { return highest_; }

 private:
  void rise(int64_t& part, int64_t bytes) {
    part += bytes;
    if (now_.peak() > highest_.peak()) highest_ = now_;
  }

  Memory now_;
  Memory highest_;
};

// One group of units in time: parallel/unit_group.h with sizes for tensors.
class GroupTide {
 public:
  GroupTide(const GroupWork& work, const ElementBytes& bytes, bool alone, Tide& tide)
      : work_(work), bytes_(bytes), alone_(alone), tide_(tide) {}

  [[nodiscard]] const GroupWork& work() const { return work_; }

  void open() {
    if (open_ || work_.policy.keep_weights) return;
    tide_.weights(work_.whole * bytes_.compute);
    open_ = true;
  }

  void close(Op op) {
    if (!open_ || (op == Op::kForward && work_.open_between)) return;
    tide_.weights(-work_.whole * bytes_.compute);
    open_ = false;
  }

  void open_gradients() {
    finish();
    if (alone_ || whole_gradient_) return;
    tide_.gradients(work_.whole * bytes_.gradient);
    whole_gradient_ = true;
  }

  void reduce(bool last) {
    if (alone_ || (work_.policy.keep_gradients && !last)) return;
    reducing_ = true;
    if (reduced_before_) tide_.gradients(work_.shard * bytes_.gradient);
  }

  void finish() {
    if (!reducing_) return;
    tide_.gradients(-(work_.whole + (reduced_before_ ? work_.shard : 0)) * bytes_.gradient);
    reducing_ = whole_gradient_ = false;
    reduced_before_ = true;
  }

 private:
  const GroupWork& work_;
  ElementBytes bytes_;
  bool alone_;
  Tide& tide_;
  bool open_ = false;
  bool whole_gradient_ = false;
  bool reducing_ = false;
  bool reduced_before_ = false;
};

// The loop over the units of a stage: parallel/stage.h.
class StageTide {
 public:
  StageTide(const RunConfig& config,
            const RankWork& work,
            const StageWork& stage,
            const blueprint::TensorPlace& place,
            bool alone,
            Tide& tide)
      : config_(config), work_(work), stage_(stage), place_(place), tide_(tide) {
    groups_.reserve(stage.groups.size());
    for (const GroupWork& group : stage.groups)
      groups_.emplace_back(group, work.bytes, alone, tide);
    group_of_.resize(stage.units.size());
    for (size_t g = 0; g < stage.groups.size(); ++g) {
      for (const size_t unit : stage.groups[g].units) group_of_[unit] = g;
    }
    for (size_t i = 0; i < group_of_.size(); ++i) {
      if (is_first(i)) forward_order_.push_back(group_of_[i]);
      const size_t back = group_of_.size() - 1 - i;
      if (is_last(back)) backward_order_.push_back(group_of_[back]);
    }
    backward_left_ = static_cast<int>(work.micro_batches());
  }

  void forward(int micro_batch) {
    if (!stage_.range.embedding) tide_.activations(first_time(micro_batch).output);  // received
    for (size_t i = 0; i < stage_.units.size(); ++i) {
      open(i, Op::kForward);
      if (stage_.units[i].kind == UnitKind::kHead) group(i).open_gradients();
      const UnitActivations unit = again(i) ? first_time(micro_batch) : of(i, micro_batch);
      tide_.activations(unit.output + unit.inside);
      tide_.for_a_moment(unit.forward);
      const bool stays = config_.parallel.pp == 1 && i + 1 == stage_.units.size();
      if (is_last(i) && !stays) group(i).close(Op::kForward);
    }
  }

  void backward(int micro_batch) {
    const bool last = --backward_left_ == 0;
    for (size_t i = stage_.units.size(); i-- > 0;) {
      open(i, Op::kBackward);
      group(i).open_gradients();
      const UnitActivations unit = of(i, micro_batch);
      const int64_t made_again = again(i) ? unit.inside : 0;
      tide_.activations(made_again);
      tide_.for_a_moment(unit.output + unit.backward);
      tide_.activations(-unit.inside - unit.output);
      if (!is_first(i)) continue;
      group(i).close(Op::kBackward);
      if (!group(i).work().policy.reduce_at_end) reduce(group_of_[i], last);
    }
    if (!stage_.range.embedding) tide_.activations(-first_time(micro_batch).output);
  }

  void complete() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g].work().policy.reduce_at_end) continue;
      const int64_t theirs = tied_gradient(groups_[g].work());
      tide_.gradients(theirs);
      reduce(g, /*last=*/true);
      tide_.gradients(-theirs);
    }
    for (GroupTide& each : groups_) each.finish();
    reducing_ = nullptr;
  }

 private:
  GroupTide& group(size_t unit) { return groups_[group_of_[unit]]; }
  [[nodiscard]] bool is_first(size_t unit) const {
    return stage_.groups[group_of_[unit]].units.front() == unit;
  }
  [[nodiscard]] bool is_last(size_t unit) const {
    return stage_.groups[group_of_[unit]].units.back() == unit;
  }
  [[nodiscard]] bool again(size_t unit) const {
    return config_.train.recompute == Recompute::kFull &&
           stage_.units[unit].kind == UnitKind::kBlock;
  }

  // What the other end of a pipeline sends.
  [[nodiscard]] int64_t tied_gradient(const GroupWork& work) const {
    int64_t elements = 0;
    for (const size_t unit : work.units) {
      for (const blueprint::WeightSpec& weight : stage_.units[unit].weights) {
        if (weight.name == blueprint::kTiedMatrix) elements += weight.local_elements();
      }
    }
    return elements * work_.bytes.gradient;
  }

  [[nodiscard]] PassShape shape_of(int micro_batch) const {
    return {.sequences = work_.rows[static_cast<size_t>(micro_batch)], .tensor_place = place_};
  }
  [[nodiscard]] UnitActivations of(size_t unit, int micro_batch) const {
    return blueprint::activations_of(stage_.units[unit].kind, config_.model, shape_of(micro_batch),
                                     work_.bytes, config_.train.recompute);
  }
  [[nodiscard]] UnitActivations first_time(int micro_batch) const {
    return blueprint::without_backward(config_.model, shape_of(micro_batch), work_.bytes);
  }

  void open(size_t unit, Op op) {
    group(unit).open();
    if (op == Op::kForward ? !is_first(unit) : !is_last(unit)) return;
    const std::vector<size_t>& order = op == Op::kForward ? forward_order_ : backward_order_;
    auto next = std::find(order.begin(), order.end(), group_of_[unit]) + 1;
    for (int i = 0; i < config_.parallel.prefetch && next != order.end(); ++i, ++next)
      groups_[*next].open();
  }

  void reduce(size_t number, bool last) {
    if (reducing_ != nullptr) reducing_->finish();
    groups_[number].reduce(last);
    reducing_ = &groups_[number];
  }

  const RunConfig& config_;
  const RankWork& work_;
  const StageWork& stage_;
  blueprint::TensorPlace place_;
  Tide& tide_;
  std::vector<GroupTide> groups_;
  std::vector<size_t> group_of_;  // units
  std::vector<size_t> forward_order_;
  std::vector<size_t> backward_order_;
  GroupTide* reducing_ = nullptr;
  int backward_left_ = 0;
};

// What a rank has between steps.
Memory state_of(const RunConfig& config, const RankWork& work) {
  const int64_t means = config.optimizer.kind == config::OptimizerKind::kSgd ? 1 : 2;
  Memory state;
  for (const StageWork& stage : work.stages) {
    for (const GroupWork& group : stage.groups) {
      state.weights += (group.policy.keep_weights ? group.whole : group.shard) * work.bytes.compute;
      state.gradients += group.shard * work.bytes.gradient;
      state.optimizer += means * group.shard * work.bytes.gradient;
      if (work.bytes.compute < work.bytes.gradient)
        state.masters += group.shard * work.bytes.gradient;
    }
  }
  return state;
}

}  // namespace

Memory memory_of_step(const RunConfig& config, const Mesh& mesh, int rank) {
  const RankWork work = work_of(config, mesh, rank);
  const blueprint::TensorPlace place = {.ranks = config.parallel.tp,
                                        .rank = mesh.position(rank, Axis::kTp)};
  const bool alone = mesh.size(work.shards) == 1;
  Tide tide;
  std::vector<StageTide> stages;
  stages.reserve(work.stages.size());
  for (const StageWork& stage : work.stages)
    stages.emplace_back(config, work, stage, place, alone, tide);
  for (const Action& action : work.actions) {
    StageTide& stage = stages[static_cast<size_t>(action.chunk)];
    action.op == Op::kForward ? stage.forward(action.micro_batch)
                              : stage.backward(action.micro_batch);
  }
  for (StageTide& stage : stages) stage.complete();
  Memory memory = tide.highest();
  const Memory state = state_of(config, work);
  memory.weights = state.weights;
  memory.gradients = state.gradients;
  memory.masters = state.masters;
  memory.optimizer = state.optimizer;
  return memory;
}

}  // namespace shoal::plan

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "shoal/plan/check/gradient_check.h"
#include "shoal/plan/check/wrong.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/program_text.h"

namespace shoal::plan {
namespace {

using config::UnitKind;

// The weights of a group of units.
enum class Weights { kShards, kOnTheirWay, kWhole };

// A micro-batch in a stage.
struct Flight {
  bool has_input = false;
  bool has_gradient = false;
  int32_t forward = 0;      // units that are done
  int32_t backward = 0;     // units that are done, from the last
  std::vector<Keeps> kept;  // by unit, of those between their passes
  bool sent_output = false;
  bool sent_gradient = false;
};

class RankWalk {
 public:
  RankWalk(const RankPlan& plan, const Program& program) : plan_(plan), program_(program) {
    for (const StagePlan& stage : plan.stages) {
      std::vector<Weights> weights;
      std::vector<GradientCheck> gradients;
      for (const GroupPlan& group : stage.groups) {
        weights.push_back(first_state(group));
        gradients.emplace_back(plan, stage, group);
      }
      weights_.push_back(std::move(weights));
      gradients_.push_back(std::move(gradients));
      flights_.emplace_back(plan.rows.size());
    }
  }

  std::vector<config::Problem> problems() {
    try {
      for (line_ = 0; line_ < program_.size(); ++line_) step(program_[line_]);
    } catch (const Wrong& wrong) {
      return {{.where = format("rank {}, line {}", plan_.rank, line_),
               .what = format("{}: {}", describe(plan_, program_[line_]), wrong.what)}};
    }
    try {
      end();
    } catch (const Wrong& wrong) {
      return {{.where = format("rank {}, end of the step", plan_.rank), .what = wrong.what}};
    }
    return {};
  }

 private:
  [[nodiscard]] Weights first_state(const GroupPlan& group) const {
    if (!plan_.divides(group)) return Weights::kWhole;
    return group.policy.keep_weights ? Weights::kOnTheirWay : Weights::kShards;
  }

  // ---- what operations are about ----

  void require_group(const Operation& operation) const {
    require(operation.chunk >= 0 && static_cast<size_t>(operation.chunk) < plan_.stages.size() &&
                operation.index >= 0 &&
                static_cast<size_t>(operation.index) < plan_.stage(operation.chunk).groups.size(),
            "there is no such group of units");
  }
  void require_pass(const Operation& operation) const {
    require(operation.chunk >= 0 && static_cast<size_t>(operation.chunk) < plan_.stages.size() &&
                operation.micro_batch >= 0 &&
                static_cast<size_t>(operation.micro_batch) < plan_.rows.size(),
            "there is no such stage or micro-batch");
  }
  void require_unit(const Operation& operation) const {
    require_pass(operation);
    require(operation.index >= 0 &&
                static_cast<size_t>(operation.index) < plan_.stage(operation.chunk).units.size(),
            "there is no such unit");
  }

  Weights& weights(int16_t chunk, int32_t group) {
    return weights_[static_cast<size_t>(chunk)][static_cast<size_t>(group)];
  }
  GradientCheck& gradient(int16_t chunk, int32_t group) {
    return gradients_[static_cast<size_t>(chunk)][static_cast<size_t>(group)];
  }
  GradientCheck& gradient_of_unit(const Operation& operation) {
    return gradient(operation.chunk, group_of(plan_, operation));
  }
  [[nodiscard]] std::string name_of_group(size_t chunk, size_t group) const {
    return describe_group(
        plan_, {.chunk = static_cast<int16_t>(chunk), .index = static_cast<int32_t>(group)});
  }
  Flight& flight(const Operation& operation) {
    Flight& found =
        flights_[static_cast<size_t>(operation.chunk)][static_cast<size_t>(operation.micro_batch)];
    found.kept.resize(plan_.stage(operation.chunk).units.size(), Keeps::kNothing);
    return found;
  }

  // ---- operations ----

  void step(const Operation& operation) {
    switch (operation.kind) {
      case OpKind::kReceive:
      case OpKind::kAwaitReceive:
      case OpKind::kSend:
      case OpKind::kAwaitSend:
        require_pass(operation);
        return transfer(operation);
      case OpKind::kForward:
      case OpKind::kRecompute:
      case OpKind::kBackward:
        require_unit(operation);
        return compute(operation);
      case OpKind::kGather:
      case OpKind::kAwaitGather:
      case OpKind::kRelease:
        require_group(operation);
        return move_weights(operation);
      case OpKind::kSumPartial:
        require_unit(operation);
        return gradient_of_unit(operation).sum_partial(operation.index);
      case OpKind::kExchangeTied:
        require_unit(operation);
        return gradient_of_unit(operation).add_tied(operation.index);
      case OpKind::kOpenGradients:
      case OpKind::kReduce:
      case OpKind::kAwaitReduce:
      case OpKind::kReduceReplicas:
      case OpKind::kAwaitReplicas:
        require_group(operation);
        return move_gradients(operation);
      case OpKind::kUpdate:
        require_group(operation);
        return update(operation);
      case OpKind::kCountTargets:
      case OpKind::kSumLoss:
      case OpKind::kNorm:
      case OpKind::kExchangeMatrices:
        return once(operation);
    }
  }

  void transfer(const Operation& operation) {
    const bool up = operation.pass == Op::kForward;
    const bool receives =
        operation.kind == OpKind::kReceive || operation.kind == OpKind::kAwaitReceive;
    const int stage = plan_.schedule.stage_of(plan_.pipeline_rank, operation.chunk);
    const int other = up == receives ? stage - 1 : stage + 1;
    require(other >= 0 && other < plan_.schedule.stages(), "no stage is there");
    require(plan_.schedule.rank_of(other) == operation.peer, "the stage is on another rank");
    Flight& passing = flight(operation);
    const auto key = std::tuple(receives, operation.pass, operation.chunk, operation.micro_batch);
    switch (operation.kind) {
      case OpKind::kReceive:
        require(transfers_.insert(key).second, "it is on its way already, or has come");
        return;
      case OpKind::kAwaitReceive:
        require(transfers_.contains(key), "nobody has posted the receive");
        require(!(up ? passing.has_input : passing.has_gradient), "it has come before");
        (up ? passing.has_input : passing.has_gradient) = true;
        return;
      case OpKind::kSend: {
        const auto units = static_cast<int32_t>(passing.kept.size());
        require((up ? passing.forward : passing.backward) == units, "it is not computed yet");
        bool& sent = up ? passing.sent_output : passing.sent_gradient;
        require(!sent, "it was sent before");
        sent = true;
        transfers_.insert(key);
        in_flight_.insert(key);
        return;
      }
      default:
        require(in_flight_.erase(key) == 1, "it was not sent, or has been awaited");
    }
  }

  void compute(const Operation& operation) {
    const int32_t group = group_of(plan_, operation);
    const StagePlan& stage = plan_.stage(operation.chunk);
    Flight& passing = flight(operation);
    Keeps& kept = passing.kept[static_cast<size_t>(operation.index)];
    const auto units = static_cast<int32_t>(stage.units.size());
    require(weights(operation.chunk, group) == Weights::kWhole, "its weights are not whole");
    const bool is_head = unit_of(plan_, operation).kind == UnitKind::kHead;
    if (operation.kind == OpKind::kForward) {
      require(passing.forward == operation.index, operation.index < passing.forward
                                                      ? "it was computed before"
                                                      : "the unit before it is not computed yet");
      require(operation.index > 0 || stage.range.embedding || passing.has_input,
              "its input has not come");
      ++passing.forward;
      require(operation.keeps != Keeps::kNothing, "nothing is kept for the backward pass");
      kept = operation.keeps;
      if (!is_head) return;
      require(done_.contains({OpKind::kCountTargets, 0}), "the number of targets is not known");
      gradient_of_unit(operation).write(operation.index, operation.micro_batch);
      return;
    }
    if (operation.kind == OpKind::kRecompute) {
      require(kept == Keeps::kInput, "its input is not there, or it needs not be computed again");
      kept = Keeps::kAll;
      return;
    }
    require(kept == Keeps::kAll, "what the forward pass keeps is not there");
    require(passing.backward == units - 1 - operation.index,
            "the unit behind it has not been backward");
    require(operation.index + 1 < units || stage.range.head || passing.has_gradient,
            "the gradient of its output has not come");
    ++passing.backward;
    kept = Keeps::kNothing;
    gradient_of_unit(operation).write(operation.index, operation.micro_batch);
  }

  void move_weights(const Operation& operation) {
    const GroupPlan& group = group_at(plan_, operation);
    require(plan_.divides(group), "nobody else has a shard of it");
    Weights& state = weights(operation.chunk, operation.index);
    switch (operation.kind) {
      case OpKind::kGather:
        require(state == (group.policy.keep_weights ? Weights::kWhole : Weights::kShards),
                "it is whole, or on its way");
        require(
            !group.policy.keep_weights || gradient(operation.chunk, operation.index).updates() == 1,
            "the new weights are not there yet");
        state = Weights::kOnTheirWay;
        return;
      case OpKind::kAwaitGather:
        require(state == Weights::kOnTheirWay, "nobody has started the gather");
        state = Weights::kWhole;
        return;
      default:
        require(state == Weights::kWhole && !group.policy.keep_weights,
                "there are no whole weights to free");
        state = Weights::kShards;
    }
  }

  void move_gradients(const Operation& operation) {
    GradientCheck& moved = gradient(operation.chunk, operation.index);
    switch (operation.kind) {
      case OpKind::kOpenGradients:
        return moved.open();
      case OpKind::kReduce:
        return moved.start_reduce(operation.adds);
      case OpKind::kAwaitReduce:
        return moved.await_reduce();
      case OpKind::kReduceReplicas:
        return moved.start_replicas();
      default:
        return moved.await_replicas();
    }
  }

  void update(const Operation& operation) {
    require(done_.contains({OpKind::kNorm, 0}), "the norm of all gradients is not known");
    for (size_t round = 0; round < plan_.matrices.size(); ++round)
      require(done_.contains({OpKind::kExchangeMatrices, static_cast<int32_t>(round)}),
              "matrices are not orthogonal yet");
    require(weights(operation.chunk, operation.index) != Weights::kOnTheirWay,
            "its weights are on their way");
    gradient(operation.chunk, operation.index).update();
  }

  // Requires that every gradient is complete.
  void require_gradients() {
    for (size_t chunk = 0; chunk < gradients_.size(); ++chunk) {
      for (size_t group = 0; group < gradients_[chunk].size(); ++group)
        gradients_[chunk][group].complete(name_of_group(chunk, group));
    }
  }

  void once(const Operation& operation) {
    if (operation.kind == OpKind::kNorm) require_gradients();
    if (operation.kind == OpKind::kExchangeMatrices)
      require(done_.contains({OpKind::kNorm, 0}), "gradients are not complete");
    if (operation.kind == OpKind::kSumLoss) {
      for (size_t chunk = 0; chunk < flights_.size(); ++chunk) {
        for (const Flight& each : flights_[chunk])
          require(static_cast<size_t>(each.forward) == plan_.stages[chunk].units.size(),
                  "a forward pass is not over");
      }
    }
    require(done_.insert({operation.kind, operation.index}).second, "it was done before");
  }

  void require_done(OpKind kind, int32_t index, bool needed) const {
    if (needed && !done_.contains({kind, index}))
      throw Wrong{format("'{}' is missing", name_of(kind))};
  }

  // Requires the state that the next step begins with.
  void end() {
    require(in_flight_.empty(), "a send is not awaited");
    require_done(OpKind::kCountTargets, 0, true);
    require_done(OpKind::kSumLoss, 0, true);
    require_done(OpKind::kNorm, 0, true);
    for (size_t round = 0; round < plan_.matrices.size(); ++round)
      require_done(OpKind::kExchangeMatrices, static_cast<int32_t>(round), true);
    for (size_t chunk = 0; chunk < plan_.stages.size(); ++chunk) {
      const StagePlan& stage = plan_.stages[chunk];
      for (size_t group = 0; group < stage.groups.size(); ++group) {
        const std::string name = name_of_group(chunk, group);
        if (weights_[chunk][group] != first_state(stage.groups[group]))
          throw Wrong{format("the weights of {} are not as the next step needs them", name)};
        if (stage.groups[group].shard > 0 && gradients_[chunk][group].updates() != 1)
          throw Wrong{format("{} is not updated", name)};
      }
      const int number = plan_.schedule.stage_of(plan_.pipeline_rank, static_cast<int>(chunk));
      for (const Flight& each : flights_[chunk]) {
        const auto units = static_cast<int32_t>(stage.units.size());
        require(each.forward == units && each.backward == units, "a pass is not computed");
        require(each.sent_output == (number + 1 < plan_.schedule.stages()) &&
                    each.sent_gradient == (number > 0),
                "something is not sent to another stage");
      }
    }
  }

  const RankPlan& plan_;
  const Program& program_;
  size_t line_ = 0;
  std::vector<std::vector<Weights>> weights_;          // by stage and group
  std::vector<std::vector<GradientCheck>> gradients_;  // likewise
  std::vector<std::vector<Flight>> flights_;           // by stage and micro-batch
  std::set<std::tuple<bool, Op, int, int>> transfers_;
  std::set<std::tuple<bool, Op, int, int>> in_flight_;
  std::set<std::pair<OpKind, int32_t>> done_;
};

}  // namespace

std::vector<config::Problem> check_rank(const CheckedRank& rank) {
  return RankWalk(*rank.plan, *rank.program).problems();
}

}  // namespace shoal::plan

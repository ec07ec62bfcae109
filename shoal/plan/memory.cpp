#include "shoal/plan/memory.h"

#include <algorithm>
#include <utility>

namespace shoal::plan {
namespace {

// The memory now, and its peak.
class Tide {
 public:
  explicit Tide(const Memory& state) : now_(state), highest_(state) {}

  void weights(int64_t bytes) { rise(now_.whole_weights, bytes); }
  void gradients(int64_t bytes) { rise(now_.whole_gradients, bytes); }
  void activations(int64_t bytes) { rise(now_.activations, bytes); }
  // Allocated and freed at once.
  void for_a_moment(int64_t bytes) {
    activations(bytes);
    activations(-bytes);
  }

  // Returns the peak since the last call.
  Memory take_highest() { return std::exchange(highest_, now_); }

 private:
  void rise(int64_t& part, int64_t bytes) {
    part += bytes;
    if (now_.peak() > highest_.peak()) highest_ = now_;
  }

  Memory now_;
  Memory highest_;
};

// Follows a program's memory through its operations.
class Walk {
 public:
  Walk(const RankPlan& plan, const MemoryRules& rules)
      : plan_(plan), rules_(rules), tide_(rules.state(plan)) {}

  void step(const Operation& operation) {
    const int64_t sent = rules_.transferred(plan_, operation.micro_batch);
    switch (operation.kind) {
      case OpKind::kGather:
        return tide_.weights(
            group_at(plan_, operation).policy.keep_weights ? 0 : whole_weights(operation));
      case OpKind::kRelease:
        return tide_.weights(-whole_weights(operation));
      case OpKind::kReceive:
        return tide_.activations(sent);
      case OpKind::kSend:  // activations are kept for backward anyway
        return tide_.activations(operation.pass == Op::kBackward ? sent : 0);
      case OpKind::kAwaitSend:
        return tide_.activations(operation.pass == Op::kBackward ? -sent : 0);
      case OpKind::kForward:
        return forward(operation);
      case OpKind::kRecompute:
        return tide_.activations(rules_.kept(plan_, operation).inside);
      case OpKind::kBackward:
        return backward(operation);
      case OpKind::kOpenGradients:
        return gradients(whole_gradients(operation));
      case OpKind::kExchangeTied:
        return tide_.for_a_moment(tied_elements(plan_, unit_of(plan_, operation)) *
                                  plan_.bytes.gradient);
      case OpKind::kExchangeMatrices:
        return tide_.for_a_moment(plan_.matrix_bytes(operation.index));
      case OpKind::kReduce:
        return gradients(arriving(operation));
      case OpKind::kAwaitReduce:
        return gradients(-arriving(operation) - whole_gradients(operation));
      default:
        return;
    }
  }

  Memory take_highest() { return tide_.take_highest(); }

 private:
  void gradients(int64_t bytes) {
    if (!rules_.holds_whole_gradients(plan_)) tide_.gradients(bytes);
  }

  void forward(const Operation& operation) {
    const blueprint::UnitActivations unit = operation.keeps == Keeps::kAll
                                                ? rules_.kept(plan_, operation)
                                                : rules_.not_kept(plan_, operation);
    tide_.activations(unit.output + unit.inside);
    tide_.for_a_moment(unit.forward);
  }

  void backward(const Operation& operation) {
    const StagePlan& stage = plan_.stage(operation.chunk);
    const int64_t received = rules_.transferred(plan_, operation.micro_batch);
    const bool last = operation.index + 1 == static_cast<int32_t>(stage.units.size());
    // A gradient that another stage has sent is counted below, as that of every unit's output.
    if (last && !stage.range.head) tide_.activations(-received);
    const blueprint::UnitActivations unit = rules_.kept(plan_, operation);
    tide_.for_a_moment(unit.output + unit.backward);
    tide_.activations(-unit.inside - unit.output);
    if (operation.index == 0 && !stage.range.embedding) tide_.activations(-received);
  }

  [[nodiscard]] int64_t whole_weights(const Operation& operation) const {
    return group_at(plan_, operation).whole * plan_.bytes.compute;
  }
  // One rank alone writes gradients where the optimizer reads them.
  [[nodiscard]] int64_t whole_gradients(const Operation& operation) const {
    const GroupPlan& group = group_at(plan_, operation);
    return plan_.divides(group) ? group.whole * plan_.bytes.gradient : 0;
  }
  // A shard that is accumulated to earlier micro-batches.
  [[nodiscard]] int64_t arriving(const Operation& operation) const {
    return operation.adds ? group_at(plan_, operation).shard * plan_.bytes.gradient : 0;
  }

  const RankPlan& plan_;
  const MemoryRules& rules_;
  Tide tide_;
};

}  // namespace

std::vector<Memory> memory_timeline(const RankPlan& plan,
                                    const Program& program,
                                    const MemoryRules& rules) {
  std::vector<Memory> timeline;
  timeline.reserve(program.size());
  Walk walk(plan, rules);
  for (const Operation& operation : program) {
    walk.step(operation);
    timeline.push_back(walk.take_highest());
    timeline.back().operation = timeline.size() - 1;
  }
  return timeline;
}

Memory memory_of(const RankPlan& plan, const Program& program, const MemoryRules& rules) {
  const std::vector<Memory> timeline = memory_timeline(plan, program, rules);
  return *std::max_element(timeline.begin(), timeline.end(),
                           [](const Memory& a, const Memory& b) { return a.peak() < b.peak(); });
}

Memory memory_of_step(const config::RunConfig& config, const Mesh& mesh, int rank) {
  const RankPlan plan = plan_of(config, mesh, rank);
  return memory_of(plan, training_program(plan));
}

}  // namespace shoal::plan

#include "shoal/plan/step_time.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "shoal/blueprint/products.h"
#include "shoal/core/error.h"
#include "shoal/plan/cost.h"

namespace shoal::plan {
namespace {

// What an operation starts, and another one awaits.
using Started = std::tuple<OpKind, Op, int, int, int>;  // kind, pass, chunk, index, micro-batch

Started started(OpKind kind, const Operation& operation) {
  return {kind, operation.pass, operation.chunk, operation.index, operation.micro_batch};
}

// Messages from one stage to another, in the order in which they are sent.
struct Channel {
  std::vector<double> arrivals;
  size_t received = 0;  // receives that were started
};

// A step begins while the gathers that the step before has started still run: the second one is
// measured.
constexpr int kRounds = 2;

struct Stage {
  Stage(const PlannedRank& rank,
        const config::ClusterConfig& cluster,
        const std::shared_ptr<GroupSpans>& spans,
        const StepObserver& observe)
      : plan(rank.plan),
        program(rank.program),
        costs(cluster, plan, spans),
        clock(cluster, observe ? told_to(observe) : ClockObserver()) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] int round() const { return static_cast<int>(next / program.size()); }
  [[nodiscard]] const Operation& operation() const { return program[next % program.size()]; }
  [[nodiscard]] bool is_done() const { return round() == kRounds; }

  ClockObserver told_to(const StepObserver& observe) {
    return [this, &observe](Spent what, bool beside, double begin, double end) {
      if (beside || round() > 0) observe({plan, operation(), what, beside, begin, end});
    };
  }

  const RankPlan& plan;
  const Program& program;
  Costs costs;
  size_t next = 0;  // operation, counted over all rounds
  RankClock clock;
  double began = 0;                                  // of the round that is measured
  std::map<Started, double> ends;                    // of what runs beside the computation
  std::map<Started, size_t> places;                  // of started receives in their channels
  std::map<std::pair<OpKind, int>, double> entered;  // meetings of stages, by round
};

class StepRun {
 public:
  // `stages` and `observe` live as long as the run.
  StepRun(const std::vector<PlannedRank>& stages,
          const config::ClusterConfig& cluster,
          const StepObserver& observe) {
    const Mesh& mesh = stages.front().plan.mesh;
    const auto spans = std::make_shared<GroupSpans>(
        mesh, Nodes::uniform(mesh.num_ranks(), cluster.devices_per_node));
    for (const PlannedRank& stage : stages)
      stages_.push_back(std::make_unique<Stage>(stage, cluster, spans, observe));
  }

  StepTime finish() {
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t i = 0; i < stages_.size(); ++i) {
        Stage& stage = *stages_[i];
        while (!stage.is_done() && step(static_cast<int>(i))) {
          ++stage.next;
          if (stage.next == stage.program.size()) begin_step(stage);
          moves = true;
        }
      }
    }
    StepTime result;
    double began = 0;
    double ended = 0;
    for (const auto& stage : stages_) {
      SHOAL_CHECK(stage->is_done(), "stage {} waits at operation {} for ever", result.stages.size(),
                  stage->next);
      began = std::max(began, stage->began);
      ended = std::max(ended, stage->clock.now());
      result.stages.push_back(stage->clock.step());
    }
    result.seconds = ended - began;
    result.began = began;
    return result;
  }

 private:
  // Runs the next operation of a stage; false when it has to wait for another stage.
  bool step(int number) {
    Stage& stage = *stages_[static_cast<size_t>(number)];
    const Operation& operation = stage.operation();
    switch (operation.kind) {
      case OpKind::kForward:
      case OpKind::kRecompute:
      case OpKind::kBackward:
      case OpKind::kUpdate:
        compute(stage, operation);
        return true;
      case OpKind::kSumPartial:
        communicate(stage, operation, Spent::kTensor);
        return true;
      case OpKind::kGather:
      case OpKind::kReduce:
      case OpKind::kReduceReplicas:
        start(stage, operation);
        return true;
      case OpKind::kAwaitGather:
        await(stage, started(OpKind::kGather, operation), Spent::kWeights);
        return true;
      case OpKind::kAwaitReduce:
        await(stage, started(OpKind::kReduce, operation), Spent::kGradients);
        compute(stage, operation);
        return true;
      case OpKind::kAwaitReplicas:
        await(stage, started(OpKind::kReduceReplicas, operation), Spent::kGradients);
        return true;
      case OpKind::kSend:
        send(stage, operation, channel(number, operation.peer, operation.pass));
        return true;
      case OpKind::kReceive:
        for (const OperationCall& call : calls_of(stage.plan, operation))
          stage.clock.receive(stage.costs.of_transfer(call, operation.peer));
        stage.places[started(OpKind::kReceive, operation)] =
            channel(operation.peer, number, operation.pass).received++;
        return true;
      case OpKind::kAwaitReceive:
        return receive(stage, operation, channel(operation.peer, number, operation.pass));
      case OpKind::kCountTargets:
      case OpKind::kExchangeMatrices:
        communicate(stage, operation, Spent::kOther);
        compute(stage, operation);
        return true;
      case OpKind::kSumLoss:
      case OpKind::kNorm:
        return meet(stage, operation, static_cast<int>(stages_.size()));
      case OpKind::kExchangeTied:
        return meet(stage, operation, 2);
      case OpKind::kAwaitSend:
      case OpKind::kRelease:
      case OpKind::kOpenGradients:
        return true;
    }
    return true;
  }

  static void begin_step(Stage& stage) {
    stage.began = stage.clock.now();
    stage.clock.begin_step();
  }

  static void compute(Stage& stage, const Operation& operation) {
    stage.clock.compute(stage.costs.compute(operation));
    if (computes(operation.kind)) communicate(stage, operation, Spent::kTensor);
  }

  static std::vector<CallSeconds> seconds_of(const Stage& stage,
                                             const std::vector<OperationCall>& calls) {
    std::vector<CallSeconds> seconds;
    for (const OperationCall& call : calls) {
      const CallSeconds taken = stage.costs.of(call);
      if (taken.seconds > 0 && call.exchange != Exchange::kReceive) seconds.push_back(taken);
    }
    return seconds;
  }

  static void communicate(Stage& stage, const Operation& operation, Spent what) {
    stage.clock.call(seconds_of(stage, calls_of(stage.plan, operation)), what);
  }

  static void start(Stage& stage, const Operation& operation) {
    const std::vector<OperationCall> calls = calls_of(stage.plan, operation);
    const StreamId stream{.axes = stage.plan.mesh.crowded(calls.front().axes)};
    const Spent what = operation.kind == OpKind::kGather ? Spent::kWeights : Spent::kGradients;
    stage.ends[started(operation.kind, operation)] =
        stage.clock.start(stream, seconds_of(stage, calls), what);
  }

  static void await(Stage& stage, const Started& what, Spent spent) {
    const auto found = stage.ends.find(what);
    if (found == stage.ends.end()) return;  // in the first round: the step before started it
    stage.clock.wait_until(found->second, spent);
    stage.ends.erase(found);
  }

  static void send(Stage& stage, const Operation& operation, Channel& to) {
    const StreamId stream{.axes = Axis::kPp, .upwards = operation.pass == Op::kBackward};
    std::vector<CallSeconds> calls;
    for (const OperationCall& call : calls_of(stage.plan, operation)) {
      const CallSeconds taken = stage.costs.of_transfer(call, operation.peer);
      if (taken.seconds > 0) calls.push_back(taken);
    }
    to.arrivals.push_back(stage.clock.start(stream, calls, Spent::kPipeline));
  }

  static bool receive(Stage& stage, const Operation& operation, const Channel& from) {
    const auto place = stage.places.find(started(OpKind::kReceive, operation));
    SHOAL_CHECK(place != stage.places.end(), "nothing was started that operation {} awaits",
                stage.next);
    if (place->second >= from.arrivals.size()) return false;
    stage.clock.wait_until(from.arrivals[place->second], Spent::kPipeline);
    stage.places.erase(place);
    return true;
  }

  // A call of several stages: it begins when the last of them is there.
  bool meet(Stage& stage, const Operation& operation, int members) {
    const std::pair meeting(operation.kind, stage.round());
    stage.entered.emplace(meeting, stage.clock.now());
    int here = 0;
    double last = 0;
    for (const auto& other : stages_) {
      const auto found = other->entered.find(meeting);
      if (found == other->entered.end()) continue;
      ++here;
      last = std::max(last, found->second);
    }
    if (here < members) return false;
    stage.clock.wait_until(last, Spent::kPipeline);
    if (operation.kind == OpKind::kNorm) stage.clock.compute(stage.costs.compute(operation));
    communicate(stage, operation, Spent::kOther);
    return true;
  }

  Channel& channel(int from, int to, Op pass) { return channels_[{from, to, pass}]; }

  std::vector<std::unique_ptr<Stage>> stages_;
  std::map<std::tuple<int, int, Op>, Channel> channels_;
};

}  // namespace

const RankTime& StepTime::busiest() const {
  const auto busy = [](const RankTime& rank) { return rank.seconds - rank.by(Spent::kPipeline); };
  return *std::max_element(stages.begin(), stages.end(),
                           [&](const RankTime& a, const RankTime& b) { return busy(a) < busy(b); });
}

StepTime step_time(const std::vector<PlannedRank>& stages,
                   const config::ClusterConfig& cluster,
                   const StepObserver& observe) {
  return StepRun(stages, cluster, observe).finish();
}

double mfu(const config::RunConfig& config,
           int ranks,
           const config::ClusterConfig& cluster,
           double seconds) {
  const auto tokens = static_cast<double>(config.train.batch * config.model.context);
  const double operations =
      tokens * blueprint::operations_per_token(config.model, config.model.context);
  return operations / (seconds * ranks * cluster.device.peak(config.train.precision));
}

}  // namespace shoal::plan

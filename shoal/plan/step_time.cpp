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
  Stage(RankPlan made, const config::ClusterConfig& cluster, const StepObserver& told)
      : plan(std::move(made)),
        program(training_program(plan)),
        costs(cluster, plan),
        observe(told) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] int round() const { return static_cast<int>(next / program.size()); }
  [[nodiscard]] const Operation& operation() const { return program[next % program.size()]; }
  [[nodiscard]] bool is_done() const { return round() == kRounds; }

  void spend(Spent what, double seconds) {
    if (round() > 0) {
      time.spent[static_cast<size_t>(what)] += seconds;
      tell(what, /*beside=*/false, now, now + seconds);
    }
    now += seconds;
  }
  void tell(Spent what, bool beside, double begin, double end) const {
    if (observe && end > begin) observe({plan, operation(), what, beside, begin, end});
  }
  void wait_until(double when, Spent what) {
    if (when > now) spend(what, when - now);
  }

  RankPlan plan;
  Program program;
  Costs costs;
  const StepObserver& observe;
  size_t next = 0;  // operation, counted over all rounds
  double now = 0;
  double began = 0;  // of the round that is measured
  RankTime time;
  std::map<Started, double> ends;                    // of what runs beside the computation
  std::map<Started, size_t> places;                  // of started receives in their channels
  std::map<std::string, double> free_from;           // of each group's stream
  std::map<std::pair<OpKind, int>, double> entered;  // meetings of stages, by round
};

class StepRun {
 public:
  // `observe` lives as long as the run.
  StepRun(const config::RunConfig& config,
          const Mesh& mesh,
          const config::ClusterConfig& cluster,
          const StepObserver& observe) {
    for (const int rank : mesh.peers(0, Axis::kPp))
      stages_.push_back(std::make_unique<Stage>(plan_of(config, mesh, rank), cluster, observe));
  }

  StepTime finish() {
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t i = 0; i < stages_.size(); ++i) {
        Stage& stage = *stages_[i];
        while (!stage.is_done() && step(static_cast<int>(i))) {
          ++stage.next;
          if (stage.next == stage.program.size()) stage.began = stage.now;
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
      stage->time.seconds = stage->now - stage->began;
      began = std::max(began, stage->began);
      ended = std::max(ended, stage->now);
      result.stages.push_back(stage->time);
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
        stage.places[started(OpKind::kReceive, operation)] =
            channel(operation.peer, number, operation.pass).received++;
        return true;
      case OpKind::kAwaitReceive:
        return receive(stage, operation, channel(operation.peer, number, operation.pass));
      case OpKind::kCountTargets:
      case OpKind::kExchangeMatrices:
        communicate(stage, operation, Spent::kOther);
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

  static void compute(Stage& stage, const Operation& operation) {
    const ComputeSeconds seconds = stage.costs.compute(operation);
    stage.spend(Spent::kProducts, seconds.products);
    stage.spend(Spent::kAttention, seconds.attention);
    stage.spend(Spent::kMemory, seconds.memory);
    if (computes(operation.kind)) communicate(stage, operation, Spent::kTensor);
  }

  static double seconds_of(const Stage& stage, const std::vector<OperationCall>& calls) {
    double seconds = 0;
    for (const OperationCall& call : calls) {
      if (call.exchange != Exchange::kReceive) seconds += stage.costs.of(call);
    }
    return seconds;
  }

  static void communicate(Stage& stage, const Operation& operation, Spent what) {
    stage.spend(what, seconds_of(stage, calls_of(stage.plan, operation)));
  }

  // Begins when the operation is reached and the group's stream is free.
  static double end_on_stream(Stage& stage,
                              const std::vector<OperationCall>& calls,
                              const std::string& stream,
                              Spent what) {
    double& free_from = stage.free_from[stream];
    const double begin = std::max(free_from, stage.now);
    free_from = begin + seconds_of(stage, calls);
    stage.tell(what, /*beside=*/true, begin, free_from);
    return free_from;
  }

  static void start(Stage& stage, const Operation& operation) {
    const std::vector<OperationCall> calls = calls_of(stage.plan, operation);
    const std::string stream = stage.plan.mesh.crowded(calls.front().axes).name();
    const Spent what = operation.kind == OpKind::kGather ? Spent::kWeights : Spent::kGradients;
    stage.ends[started(operation.kind, operation)] = end_on_stream(stage, calls, stream, what);
  }

  static void await(Stage& stage, const Started& what, Spent spent) {
    const auto found = stage.ends.find(what);
    if (found == stage.ends.end()) return;  // in the first round: the step before started it
    stage.wait_until(found->second, spent);
    stage.ends.erase(found);
  }

  static void send(Stage& stage, const Operation& operation, Channel& to) {
    const std::string stream = operation.pass == Op::kForward ? "down" : "up";
    to.arrivals.push_back(
        end_on_stream(stage, calls_of(stage.plan, operation), stream, Spent::kPipeline));
  }

  static bool receive(Stage& stage, const Operation& operation, const Channel& from) {
    const auto place = stage.places.find(started(OpKind::kReceive, operation));
    SHOAL_CHECK(place != stage.places.end(), "nothing was started that operation {} awaits",
                stage.next);
    if (place->second >= from.arrivals.size()) return false;
    stage.wait_until(from.arrivals[place->second], Spent::kPipeline);
    stage.places.erase(place);
    return true;
  }

  // A call of several stages: it begins when the last of them is there.
  bool meet(Stage& stage, const Operation& operation, int members) {
    const std::pair meeting(operation.kind, stage.round());
    stage.entered.emplace(meeting, stage.now);
    int here = 0;
    double last = 0;
    for (const auto& other : stages_) {
      const auto found = other->entered.find(meeting);
      if (found == other->entered.end()) continue;
      ++here;
      last = std::max(last, found->second);
    }
    if (here < members) return false;
    stage.wait_until(last, Spent::kPipeline);
    if (operation.kind == OpKind::kNorm)
      stage.spend(Spent::kMemory, stage.costs.compute(operation).memory);
    communicate(stage, operation, Spent::kOther);
    return true;
  }

  Channel& channel(int from, int to, Op pass) { return channels_[{from, to, pass}]; }

  std::vector<std::unique_ptr<Stage>> stages_;
  std::map<std::tuple<int, int, Op>, Channel> channels_;
};

}  // namespace

std::string_view spent_name(Spent spent) {
  constexpr std::array<std::string_view, kNumSpent> kNames = {"products",
                                                              "attention",
                                                              "functions that move bytes",
                                                              "calls of the tensor group",
                                                              "waiting for weights",
                                                              "waiting for gradients",
                                                              "waiting for other stages",
                                                              "loss and norm"};
  return kNames[static_cast<size_t>(spent)];
}

const RankTime& StepTime::busiest() const {
  const auto busy = [](const RankTime& rank) { return rank.seconds - rank.by(Spent::kPipeline); };
  return *std::max_element(stages.begin(), stages.end(),
                           [&](const RankTime& a, const RankTime& b) { return busy(a) < busy(b); });
}

StepTime step_time(const config::RunConfig& config,
                   const Mesh& mesh,
                   const config::ClusterConfig& cluster,
                   const StepObserver& observe) {
  return StepRun(config, mesh, cluster, observe).finish();
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

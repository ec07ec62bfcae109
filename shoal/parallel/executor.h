// executor.h -- runs a program with tensors: a loop over its operations, which decides nothing.
//
//   Executor executor(plan, stages, optimizer, groups, materials);
//   executor.begin(passes);
//   executor.run(plan::training_program(plan), listener);
//   executor.loss();
//
// Each unit is an island of autograd: nothing holds a weight between its forward and its backward pass.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "shoal/comm/group.h"
#include "shoal/model/decoder.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/unit_group.h"
#include "shoal/plan/program.h"

namespace shoal::parallel {

// Hears of every operation, on the thread that runs it: for times, and for traces.
class OperationListener {
 public:
  virtual ~OperationListener() = default;
  virtual void before(const plan::Operation& operation) = 0;
  virtual void after(const plan::Operation& operation) = 0;
};

// A stage of this rank.
struct StageTensors {
  std::unique_ptr<model::Decoder> decoder;
  std::vector<std::unique_ptr<UnitGroup>> groups;
};

// The ranks that operations are done among.
struct StepGroups {
  comm::Group pipeline;
  comm::Group tensor;
  comm::Group data;
  comm::Group losses;                   // ranks with other samples or stages
  comm::Group norms;                    // ranks with other weights
  std::optional<comm::Group> matrices;  // with muon: ranks with other parts of the same matrices
};

class Executor {
 public:
  // The stages are this rank's, by chunk; the optimizer is that of their groups in their order, nullptr where nothing is
  // trained. `plan`, `stages` and `optimizer` outlive the executor.
  Executor(const plan::RankPlan& plan,
           const std::vector<StageTensors>& stages,
           const std::unique_ptr<optim::Optimizer>& optimizer,
           StepGroups groups,
           const model::Materials& materials);
  ~Executor();

  // Takes the micro-batches that operations are about.
  void begin(std::span<const model::Pass> passes);
  // Runs a program, or a part of one that follows on the part that was run before.
  void run(std::span<const plan::Operation> operations, OperationListener* listener = nullptr);

  // The losses or logits of the last unit by micro-batch; undefined on ranks that do not have it.
  std::vector<at::Tensor> take_results() { return std::exchange(results_, {}); }
  // The loss of all ranks, and the targets it is the mean of; after the operations that count and add up.
  [[nodiscard]] const at::Tensor& loss() const { return loss_; }
  [[nodiscard]] int64_t targets() const { return targets_; }

 private:
  using Operation = plan::Operation;

  // A micro-batch in a stage, between its passes.
  struct InFlight {
    at::Tensor x;                 // what the last unit gave, or the stage before
    at::Tensor gradient;          // of it, likewise from behind
    std::vector<at::Tensor> in;   // by unit: the beginning of its island
    std::vector<at::Tensor> out;  // and its end
  };
  struct Transfer {
    at::Tensor tensor;
    comm::Pending pending;
  };
  using Key = std::tuple<plan::Op, int, int>;  // chunk, micro-batch

  void step(const Operation& operation);
  void count_targets();
  void sum_loss();
  void take_norm();
  void forward(const Operation& operation);
  void recompute(const Operation& operation);
  void backward(const Operation& operation);
  void receive(const Operation& operation);
  void await_receive(const Operation& operation);
  void send(const Operation& operation);
  void exchange_tied(const Operation& operation);

  [[nodiscard]] model::Unit& unit(const Operation& operation) const;
  [[nodiscard]] UnitGroup& group(const Operation& operation) const;
  [[nodiscard]] const model::Pass& pass(const Operation& operation) const;
  InFlight& in_flight(const Operation& operation);
  // What goes from stage to stage for a micro-batch: to be filled.
  [[nodiscard]] at::Tensor room_for(const model::Pass& pass) const;
  // The same on both sides of a transfer, and another for others that are on their way.
  [[nodiscard]] int tag_of(const Operation& operation, int receiving_stage) const;

  const plan::RankPlan& plan_;
  const std::vector<StageTensors>& stages_;
  const std::unique_ptr<optim::Optimizer>& optimizer_;
  StepGroups groups_;
  model::Materials materials_;
  std::vector<model::Pass> passes_;
  std::map<std::pair<int, int>, InFlight> in_flight_;  // by chunk and micro-batch
  std::map<Key, Transfer> incoming_;
  std::map<Key, Transfer> sent_;
  std::vector<at::Tensor> results_;
  at::Tensor loss_;
  int64_t targets_ = 0;
};

}  // namespace shoal::parallel

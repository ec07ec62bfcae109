// executor.h -- runs a program on tensors: a loop over its operations, without decisions of its
// own.
//
//   Executor executor(plan, stages, optimizer, groups, materials);
//   executor.begin(passes);
//   executor.run(plan::training_program(plan), listener);
//   executor.loss();
//
// Each unit has an autograd graph of its own, and no graph holds a weight between its forward and
// its backward pass.
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

// A listener is called around every operation, on the thread that runs it: for timing and traces.
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

// The groups that operations communicate in.
struct StepGroups {
  comm::Group pipeline;
  comm::Group tensor;
  comm::Group data;
  comm::Group losses;                   // ranks with different samples or stages
  comm::Group norms;                    // ranks with different weights
  std::optional<comm::Group> matrices;  // with muon: ranks with parts of the same matrices
};

class Executor {
 public:
  // `stages` are this rank's, by chunk; `optimizer` has their groups as units, in order, and is
  // nullptr without training. `plan`, `stages` and `optimizer` outlive the executor.
  Executor(const plan::RankPlan& plan,
           const std::vector<StageTensors>& stages,
           optim::Optimizer* optimizer,
           StepGroups groups,
           const model::Materials& materials);
  ~Executor();

  // Sets the micro-batches that the following operations run on.
  void begin(std::vector<model::Pass> passes);
  // Runs a program, or the next part of one, which begins at `first_line` of it.
  void run(std::span<const plan::Operation> operations,
           OperationListener* listener = nullptr,
           size_t first_line = 0);

  // Returns the losses or logits of the last unit by micro-batch; undefined on ranks without this
  // unit.
  std::vector<at::Tensor> take_results() { return std::exchange(results_, {}); }
  // Returns the same, which stay until the next begin().
  [[nodiscard]] const std::vector<at::Tensor>& results() const { return results_; }
  // These return the loss of all ranks and the number of targets it is the mean of, once the
  // program has counted and summed them.
  [[nodiscard]] const at::Tensor& loss() const { return loss_; }
  [[nodiscard]] const at::Tensor& targets() const { return targets_; }

 private:
  using Operation = plan::Operation;

  // A micro-batch in a stage, between its forward and its backward pass.
  struct InFlight {
    at::Tensor x;                 // output of the last unit or of the stage before
    at::Tensor gradient;          // its gradient, from the unit or stage after
    std::vector<at::Tensor> in;   // by unit: the input of its graph
    std::vector<at::Tensor> out;  // by unit: the output of its graph
  };
  struct Transfer {
    at::Tensor tensor;
    comm::Pending pending;
  };
  using Key = std::tuple<plan::Op, int, int>;  // pass, chunk, micro-batch

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
  // Returns an uninitialized tensor for the activations that go from stage to stage.
  [[nodiscard]] at::Tensor room_for(const model::Pass& pass) const;
  // Returns a tag that is the same on both sides of a transfer, and differs from other transfers in
  // flight.
  [[nodiscard]] int tag_of(const Operation& operation, int receiving_stage) const;

  const plan::RankPlan& plan_;
  const std::vector<StageTensors>& stages_;
  optim::Optimizer* const optimizer_;
  StepGroups groups_;
  model::Materials materials_;
  std::vector<model::Pass> passes_;
  std::map<std::pair<int, int>, InFlight> in_flight_;  // by chunk and micro-batch
  std::map<Key, Transfer> incoming_;
  std::map<Key, Transfer> sent_;
  std::vector<size_t> updated_;  // groups of consecutive updates, which are made together
  std::vector<at::Tensor> results_;
  at::Tensor loss_;
  at::Tensor targets_;
};

}  // namespace shoal::parallel

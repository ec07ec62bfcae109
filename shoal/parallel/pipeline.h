// pipeline.h -- runs a schedule: the micro-batches of a step through the stages of several ranks.
//
//   rank 0   F0 F1 F2 .. .. B0 F3 B1 ..         Fm: activations of micro-batch m from the stage before,
//   rank 1   .. F0 F1 F2 B0 F3 B1 ..                to the stage behind
//   rank 2   .. .. F0 B0 F1 B1 ..               Bm: their gradients, the other way
//
// The schedule is data (plan/schedule.h): this only does what it lists. Sends follow each pass and are not
// waited for; the receive of the next pass is posted before the present one is computed. Which sends are
// over is known from the schedule: whoever sends me something has taken what it needed before.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "shoal/comm/group.h"
#include "shoal/parallel/stage.h"
#include "shoal/parallel/step_times.h"
#include "shoal/plan/schedule.h"

namespace shoal::parallel {

// What goes from stage to stage for a micro-batch: to be filled.
using MakeActivations = std::function<at::Tensor(const model::Pass& pass)>;

class Pipeline {
 public:
  // `stages` are this rank's, by chunk. `ranks` are those of the pipeline, in order.
  Pipeline(comm::Group ranks,
           plan::Schedule schedule,
           std::vector<Stage*> stages,
           MakeActivations make_activations);
  ~Pipeline();

  // The sum of the losses, on the last stage; undefined on others. As many passes as the schedule has
  // micro-batches.
  at::Tensor forward_backward(std::span<const model::Pass> passes, StepTimes* times);
  // Forward alone, of any number of passes: the result of each, on the last stage.
  std::vector<at::Tensor> evaluate(std::span<const model::Pass> passes);

 private:
  using Key = std::tuple<plan::Op, int, int>;  // micro-batch, chunk

  struct Sent {
    comm::Pending pending;
    int to = 0;
    size_t taken_at = 0;  // place of the action that takes it, in the list of that rank
  };
  struct Incoming {
    at::Tensor tensor;
    comm::Pending pending;
  };

  [[nodiscard]] int stage_of(const plan::Action& action) const;
  // The same pass one stage further, or before, and the rank that runs it.
  [[nodiscard]] std::optional<plan::Action> neighbour(const plan::Action& action,
                                                      int step,
                                                      int* rank) const;
  [[nodiscard]] int tag_of(const plan::Action& action, int receiving_stage) const;

  void post_receive(const plan::Action& action, const model::Pass& pass);
  at::Tensor take(const plan::Action& action);
  void send(const plan::Action& action, const at::Tensor& tensor);
  // A rank has come to `place` of its list: it has what it takes before that.
  void forget_sends(int rank, size_t place);

  comm::Group ranks_;
  plan::Schedule schedule_;
  std::vector<Stage*> stages_;
  MakeActivations make_activations_;
  std::vector<std::map<Key, size_t>> places_;  // of actions in their lists, by rank
  std::map<Key, Incoming> incoming_;
  std::vector<Sent> sent_;
};

}  // namespace shoal::parallel
